"""The page of faults, `docs/faults.md`: what each is, who must refuse it, and who is asked about it."""

from __future__ import annotations

from conformance.cases.case import Answers, Case, Rejected
from conformance.cases.invalid import VIOLATIONS
from conformance.cases.operators import OPERATORS
from conformance.catalogue.loading import Catalogue, load_catalogue

PAGE_HEADER = """\
# Faults

Made by `python -m conformance.fault_page > docs/faults.md`; do not edit it. A test holds that this is what the command
prints.

What no backend may accept, by name. A case that must be rejected stands under `rejects:` in a catalogue file: one valid
case, and for each fault what to change in it. `conformance check` proves that the case has that fault and no other of
these, that the reference refuses it, that the valid case beside it has none and is accepted, and that no adapter has
lost the fault on the way into its program.

```yaml
rejects:
  - level: standard
    x: {values: integers, shape: [1, 2, 6, 7], seed: 502}
    window: [2, 3]
    stride: [1, 1]
    faults:
      - {id: rejects/stride-is-zero, rejected: StrideIsZero, stride: [0, 1]}
      - {id: rejects/window-rank-mismatch, rejected: WindowRankMismatch, window: [2, 3, 2]}
```

Such a case is put to the native call alone, as a user writes it: nothing is padded, composed or put right, and where
the call has no words for the fault the case is `unsupported`. Three things can go wrong, and are told apart: the
backend returns something (`fail`, of the kind `accepted`), its process dies (`crashed`), or it never comes back
(`timed_out`).

A fault is demanded only where no document gives it a meaning. Where some do, it is a question with `rejected` among its
answers: a window larger than the padded input is a mistake to some, an empty result to others. What accepts a fault, or
dies of it, stands in [findings.md](findings.md).

An operator stands in the third column if it or its gradient has a case, in the fourth if a question asks about the
fault.

| fault | what it is | must be refused by | asked of |
|---|---|---|---|
"""


def violations_page(catalogue: Catalogue) -> str:
    """Return the whole page."""
    return PAGE_HEADER + "".join(f"{_violation_row(catalogue, name)}\n" for name in VIOLATIONS)


def disputed_violations(case: Case) -> set[str]:
    """Return the faults for which a question lets the call be refused."""
    answers = case.expect.named.values() if isinstance(case.expect, Answers) else ()
    return {answer.predicate for answer in answers if isinstance(answer, Rejected)}


def _violation_row(catalogue: Catalogue, name: str) -> str:
    demanded = {case.operator for case in catalogue.cases if case.expect == Rejected(name)}
    questioned = {case.operator for case in catalogue.cases if name in disputed_violations(case)}
    return f"| `{name}` | {VIOLATIONS[name].__doc__} | {_operator_names(demanded)} | {_operator_names(questioned)} |"


def _operator_names(names: set[str]) -> str:
    """Return names of operators in the order of the catalogue, gradients as the operators that they are of."""
    forward = {OPERATORS[name].forward for name in names}
    return ", ".join(f"`{name}`" for name in OPERATORS if name in forward) or "–"


if __name__ == "__main__":
    print(violations_page(load_catalogue()), end="")
