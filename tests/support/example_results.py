"""Small, realistic results files in the format of docs/results.md, for tests of views."""

import json
from collections import Counter
from math import prod

CATALOGUE = "5f1d0a4be6a94a0f8f8c4f2f6a1b7c90"
SETUP = "import numpy as np\nimport {package}\n{package}.set_num_threads(1)\n"
HOSTILE = '</script><img src=x onerror="document.title=1"><!-- \u2028 & | `x` @user \x1b[31m'


def array(values, shape, dtype="float32"):
    data = None if values is None else list(values)
    assert data is None or len(data) == prod(shape)
    return {"dtype": dtype, "shape": list(shape), "data": data}


def header(backend, surfaces, **changes):
    environment = {
        "python": "3.11.7",
        "platform": "Linux-6.1.0-x86_64-with-glibc2.36",
        "suite": {"nn-conformance": "0.1.0", "numpy": "2.4.6"},
        "packages": {backend: "2.1.0", "numpy": "2.4.6"},
        "setup": {surface: SETUP.format(package=backend) for surface in surfaces},
        "threads": 1,
    }
    return {
        "record": "header",
        "format": 1,
        "backend": backend,
        "catalogue": {"digest": CATALOGUE, "cases": len(CASES)},
        "level": "smoke",
        "selection": {"surfaces": [], "operators": [], "cases": []},
        "surfaces": list(surfaces),
        "environment": environment,
        "started": "2026-11-20T09:41:00Z",
    } | changes


def case(name, x, expected, **changes):
    return {
        "record": "case",
        "case": name,
        "operator": name.split("/")[0],
        "level": "smoke",
        "about": "",
        "source": "",
        "via": [],
        "question": None,
        "parameters": {"window": [3, 3], "stride": [2, 2], "padding": [[1, 1], [1, 1]], "dilation": [1, 1]},
        "inputs": {"x": x},
        "cost": None,
        "expected": expected,
        "digest": "00112233445566778899aabbccddeeff",
        "pinned": 0,
        "terms": 9,
        "bound": 0,
    } | changes


SQUARE = array(range(16), [1, 1, 4, 4])
CASES = {
    one["case"]: one
    for one in (
        case(
            "max_pool/stride-2-padding-1",
            SQUARE,
            array([5, 7, 13, 15], [1, 1, 2, 2]),
            about="Padding is never the largest value.",
            source="https://d2l.ai/chapter_convolutional-neural-networks/pooling.html",
            pinned=4,
            cost={
                "windows": 4,
                "operations": 32,
                "kind": "comparisons",
                "divisions": 0,
                "real_operations": 21,
                "bytes_read": 144,
                "bytes_written": 16,
            },
        ),
        case(
            "max_pool/padding-recipe-on-negative-input",
            array([-value for value in range(1, 17)], [1, 1, 4, 4]),
            array([-1, -2, -5, -6], [1, 1, 2, 2]),
            about="Zero padding before max pooling is not the same as max pooling with padding.",
            via=["pad", "max_pool"],
        ),
        case(
            "max_pool/window-larger-than-input",
            SQUARE,
            {"rejected": "WindowExceedsPaddedInput"},
            parameters={"window": [9, 9], "stride": [1, 1], "padding": [[0, 0], [0, 0]]},
        ),
        case(
            "max_pool/nan-in-the-window",
            array([1, "nan", 3, 4, 5, 6, 7, 8], [1, 2, 4]),
            array(["nan", 4, 6, 8], [1, 2, 2]),
            parameters={"window": [2], "stride": [2], "padding": [[0, 0]]},
            about="NaN propagates from any position.",
        ),
        case(
            "avg_pool/three-channels",
            array([round(0.37 * value - 3, 4) for value in range(75)], [1, 3, 5, 5]),
            array([round(0.31 * value - 1, 5) for value in range(12)], [1, 3, 2, 2]),
            terms=9,
            bound=1.9e-06,
        ),
        case("avg_pool/large", array(None, [8, 64, 56, 56]), array(None, [8, 64, 28, 28])),
        case(
            "avg_pool/divisor-at-the-border",
            SQUARE,
            {"answers": {"real-cells": array([2.5, 4], [1, 2]), "whole-window": array([1.1111112, 2.6666667], [1, 2])}},
            question="avg_pool-divisor-at-the-border",
            parameters={"window": [3, 3]},
        ),
        case(
            "conv/edge-detector",
            array([1, 1, 0, 0, 0, 0, 1, 1], [1, 1, 1, 8]),
            array([0, 1, 0, 0, 0, -1, 0], [1, 1, 1, 7]),
            inputs={"x": array([1, 1, 0, 0, 0, 0, 1, 1], [1, 1, 1, 8]), "kernel": array([1, -1], [1, 1, 1, 2])},
        ),
        case(
            "conv/wraps-in-int64",
            array([2**62, 2**62], [1, 1, 2], "int64"),
            array([-(2**63), 7], [1, 1, 2], "int64"),
        ),
    )
}


def program(surface, text=None, how="native"):
    text = text or f"def run(x):\n    # {surface}\n    return pool(x, window=(3, 3), stride=(2, 2), padding=1)\n"
    return {"record": "program", "program": f"{surface}-{how}", "surface": surface, "how": how, "text": text}


def result(name, surface, **changes):
    return {
        "record": "result",
        "case": name,
        "surface": surface,
        "status": "pass",
        "outcome": "returned",
        "verdict": "agree",
        "kind": None,
        "how": "native",
        "program": f"{surface}-native",
        "budget_used": 0,
        "seconds": 0.00042,
        "digest": "ffeeddccbbaa99887766554433221100",
    } | changes


def unsupported(name, surface, reason="no asymmetric padding"):
    judged = {"status": "unsupported", "outcome": "unsupported", "verdict": None, "how": None, "program": None}
    return result(name, surface, **judged, budget_used=None, digest=None, seconds=0, reason=reason, issue=None)


def differing(name, surface, got, worst, **changes):
    judged = {"status": "fail", "verdict": "differ", "kind": "value", "budget_used": "inf"}
    return result(name, surface, **(judged | {"got": got, "worst": worst} | changes))


def died(name, surface, outcome, message):
    judged = {"status": outcome, "outcome": outcome, "verdict": None, "budget_used": None, "digest": None}
    return result(name, surface, **judged, message=message)


def rejected(name, surface, **changes):
    judged = {"outcome": "rejected", "budget_used": None, "digest": None}
    return result(name, surface, **(judged | {"message": "ValueError: window (9, 9) exceeds (4, 4)"} | changes))


def convention(surface, declared, observed, source):
    return {
        "record": "convention",
        "question": "avg_pool-divisor-at-the-border",
        "surface": surface,
        "case": "avg_pool/divisor-at-the-border",
        "declared": declared,
        "observed": observed,
        "source": source,
        "about": "What does an average at the border divide by?",
    }


def footer(records):
    statuses = [record["status"] for record in records if record["record"] == "result"]
    return {"record": "footer", "results": len(statuses), "by_status": dict(Counter(statuses)), "seconds": 3.25}


def run(backend, surfaces, records, complete=True, **changes):
    """Return the records of a file. Cases and programs come before the results that refer to them."""
    used = dict.fromkeys(record["case"] for record in records)
    lines = [header(backend, surfaces, **changes), *(CASES[name] for name in used), *map(program, surfaces), *records]
    return [*lines, footer(records)] if complete else lines


def all_pass(surface):
    equal = [name for name in CASES if name != "max_pool/window-larger-than-input"]
    question = convention(surface, "real-cells", "real-cells", "https://example.org/pooling")
    return [
        *(result(name, surface) for name in equal),
        rejected("max_pool/window-larger-than-input", surface),
        question,
    ]


SLOW_MESSAGE = "timed out (no answer within 60 s), then, in a separate process, returned (0a)"


def slow_results(surface):
    """Return a result that agrees, and one that agrees after a timeout."""
    late = result("max_pool/stride-2-padding-1", surface, status="slow", slow=True, message=SLOW_MESSAGE)
    return [result("conv/edge-detector", surface), late]


def undeclared(name, surface):
    """Return the records of an answer for which the surface declares none."""
    message = "answered 'real-cells'; the surface declares no answer"
    unjudged = {"status": "undeclared", "verdict": None, "budget_used": None, "message": message}
    return [convention(surface, None, "real-cells", "undocumented"), result(name, surface, **unjudged)]


def alpha():
    """Return a run in which everything passes."""
    return run("alpha", ["alpha.nn", "alpha.nn.functional"], all_pass("alpha.nn") + all_pass("alpha.nn.functional"))


def beta(message="RuntimeError: no such kernel"):
    """Return a run with results of every status."""
    nn, book = "beta.keras.layers", "beta.book"
    ledger = {"status": "known", "reason": "The recipe pads with zeros, which win over negative values."}
    recipe = array([0, 0, 0, -6], [1, 1, 2, 2])
    wrong = array([5, 7, 13, 14], [1, 1, 2, 2])
    at_end = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1048576}
    at_start = {"index": [0, 0, 1, 0], "expected": -5, "got": 0, "absolute": 5, "ulp": 1084227584}
    off = [round(0.31 * value - 1 + (2e-6 if value == 7 else 0), 6) for value in range(12)]
    at_seven = {"index": [0, 1, 1, 1], "expected": 1.17, "got": 1.170002, "absolute": 2e-06, "ulp": 17}
    lost = array([3, 4, 6, "inf"], [1, 2, 2])
    records = [
        differing("max_pool/stride-2-padding-1", nn, wrong, at_end),
        result("max_pool/stride-2-padding-1", book),
        *(
            differing("max_pool/padding-recipe-on-negative-input", surface, recipe, at_start, **ledger,
                      issue="https://example.org/issues/1")
            for surface in (nn, book)
        ),
        rejected("max_pool/window-larger-than-input", nn),
        result("max_pool/window-larger-than-input", book, status="fail", verdict="differ", kind="accepted",
               budget_used=None, got=array([], [1, 1, 0, 0]), message="returned an array of shape (1, 1, 0, 0)"),
        differing("max_pool/nan-in-the-window", nn, lost, None, kind="special", status="flaky"),
        unsupported("max_pool/nan-in-the-window", book, "the loops work on one plane"),
        differing("avg_pool/three-channels", nn, array(off, [1, 3, 2, 2]), at_seven, budget_used=1.05),
        died("avg_pool/three-channels", book, "crashed", f"signal 11 (SIGSEGV)\n{message}"),
        died("avg_pool/large", nn, "timed_out", "no answer within 60 s"),
        unsupported("avg_pool/large", book),
        result("avg_pool/divisor-at-the-border", nn, status="fail", verdict="differ", kind="value",
               budget_used="inf", got=array([1.1111112, 2.6666667], [1, 2])),
        unsupported("avg_pool/divisor-at-the-border", book),
        result("conv/edge-detector", nn, status="stale", reason="It was wrong up to version 2.0."),
        unsupported("conv/edge-detector", book),
        differing("conv/wraps-in-int64", nn, array([2**63 - 1, 7], [1, 1, 2], "int64"), None, kind="value"),
        convention(nn, "real-cells", "whole-window", "undocumented"),
        convention(book, None, None, "undocumented"),
    ]  # fmt: skip
    return run("beta", [nn, book], records)


def gamma():
    """Return an interrupted run."""
    return run("gamma", ["gamma.lax"], all_pass("gamma.lax")[:3], complete=False)


def delta():
    """Return a run in which everything is unsupported."""
    return run("delta", ["delta.npx"], [unsupported("conv/edge-detector", "delta.npx", "no convolution")])


FOUND = "max_pool/explored/1d-n1-c1-i2-w1-s2"


def finding(**changes):
    """Return a finding as recorded in the header of an exploration."""
    return {
        "id": "max_pool-0a1b2c3d",
        "case": FOUND,
        "operator": "max_pool",
        "surfaces": ["alpha.nn"],
        "way": "value",
        "sentence": (
            "max_pool on alpha.nn: numbers are wrong by more than rounding allows in all tested cases with stride."
        ),
        "conditions": ["stride"],
        "true": ["one axis", "stride"],
        "first": 17,
        "covers": 41,
        "said": "",
        "case_text": "  - id: explored/1d-n1-c1-i2-w1-s2\n    x:\n      values: [[[0, 1]]]\n",
        "script": "import alpha\n\nprint(alpha.pool([[[0, 1]]]))\n",
    } | changes


def exploration(backend="alpha", findings=None, message=None, complete=True, **changes):
    """Return the records of an exploration, by default with one finding."""
    findings = [finding()] if findings is None else findings
    surfaces = list(dict.fromkeys(surface for one in findings for surface in one["surfaces"])) or [f"{backend}.nn"]
    explored = {"seed": 7, "cases": 1000, "statuses": {"fail": 41, "pass": 959}, "beyond": 3, "findings": findings}
    catalogue = {"digest": "ee" * 16, "version": "", "cases": len(findings)}
    worst = {"index": [0, 0, 0], "expected": 0, "got": 1, "absolute": 1, "ulp": 1065353216}
    extra = {"message": message} if message else {}
    lines = [
        header(backend, surfaces, **{"catalogue": catalogue, "level": "exhaustive", "explored": explored} | changes)
    ]
    for name in dict.fromkeys(one["case"] for one in findings):
        parameters = {"window": [1], "stride": [2], "padding": [[0, 0]], "dilation": [1]}
        lines.append(case(name, array([0, 1], [1, 1, 2]), array([0], [1, 1, 1]), parameters=parameters))
    lines += map(program, surfaces)
    results = [
        differing(one["case"], surface, array([1], [1, 1, 1]), worst, **extra)
        for one in findings
        for surface in one["surfaces"]
    ]
    return [*lines, *results, *([footer(results)] if complete else [])]


def text(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write(folder, *runs):
    """Write one file per run, as `conformance run` does, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for records in runs:
        paths.append(folder / f"{records[0]['backend']}.jsonl")
        paths[-1].write_text(text(records), encoding="utf-8")
    return paths
