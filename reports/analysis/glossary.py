"""Explanations of the statuses and terms of a report, in one sentence each."""

from __future__ import annotations

from reports.analysis.severity import Severity
from reports.results import Status

STATUS_MEANINGS: dict[str, str] = {
    Status.FAIL: "The result differs from the expected one, and no entry of the ledger covers it.",
    Status.CRASHED: "The call ended the process, or the program that the adapter wrote has an error.",
    Status.TIMED_OUT: "The call did not finish within the time limit.",
    Status.FLAKY: "Repeated calls gave different results.",
    Status.STALE: "The ledger lists a deviation, but the result agrees: the entry is outdated.",
    Status.KNOWN: "The result differs in a way that an entry of the ledger describes. It does not fail the run.",
    Status.UNDECLARED: "The surface answers a convention, but declares no answer. It does not fail the run.",
    Status.REFUSED: "The exporter or the runtime of a route raises an error. It does not fail the run.",
    Status.SLOW: "The call exceeded the time limit once, and agreed in a second run. It does not fail the run.",
    Status.UNSUPPORTED: "The surface cannot express the case. It is not judged.",
    Status.PASS: "The result agrees with the expected one.",
}
SEVERITY_MEANINGS: dict[str, str] = {
    Severity.CRASH: "The call ends the process, or its program has an error.",
    Severity.HANG: "The call does not finish within the time limit.",
    Severity.VALUE: "A number is off by more than rounding allows.",
    Severity.SPECIAL: "A NaN or an infinity is lost, or returned where a number is right.",
    Severity.FLAKY: "Repeated calls give different results.",
    Severity.FORM: "The result has another dtype or shape.",
    Severity.INVALID_CALL: "A call that must be rejected ends the process, or does not finish within the time limit.",
    Severity.REFUSES: "The surface raises an error for a valid call.",
    Severity.ACCEPTS: "The surface returns a result for a call that must be rejected.",
    Severity.CONVENTION: "The surface contradicts its documented or declared answer to a convention.",
    Severity.STALE: "The surface agrees, although the ledger lists a deviation.",
}
TERMS: dict[str, str] = {
    "backend": "One framework in one environment. Two versions of a framework are two backends.",
    "surface": "One API of a backend that users call. Results are counted for each surface separately.",
    "case": "One operator with parameters and inputs, and the result that is required.",
    "judged": "Compared with the required result. Unsupported cases are not judged.",
    "ledger": "The list of known deviations, with the reason for each.",
    "convention": "A point on which documents differ or are silent, with named answers.",
    "declares": "The answer of a surface to a convention, from its documentation or from an earlier observation.",
    "undocumented": "No document states the answer. It was observed in an earlier version.",
    "native, padded, composed": "Kinds of program: one call; explicit padding, then one call; several calls.",
    "error bound": "The largest error that rounding can cause, computed for every element of the output.",
    "ulp": "Unit in the last place: the distance between adjacent floating-point numbers.",
    "printed output": "An output that the source of a case prints, which the result is also compared with.",
}
