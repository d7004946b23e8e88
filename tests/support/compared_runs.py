"""Runs of one backend to compare, and the changes of a comparison in short form."""

import json

from tests.support import example_results as example
from tests.support.example_results import array, convention, differing, result

NN = "alpha.nn"
POOL, TOO_LARGE, NAN = (
    f"max_pool/{name}" for name in ("stride-2-padding-1", "window-larger-than-input", "nan-in-the-window")
)
BORDER, LARGE, CONV = "avg_pool/divisor-at-the-border", "avg_pool/large", "conv/edge-detector"
WORST = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1}
WRONG = array([5, 7, 13, 14], [1, 1, 2, 2])


def alpha(*records, surfaces=(NN,), complete=True, **changes):
    return example.run("alpha", list(surfaces), [*records], complete=complete, **changes)


def environment(**changes):
    return {**example.header("alpha", [NN])["environment"], **changes}


def kinds(difference):
    return [
        (change.kind, change.case.case, change.surface, change.old_text, change.new_text)
        for change in difference.changes
    ]  # fmt: skip


HOSTILE = example.HOSTILE + "\n| a | b |\n\ud800[red]x[/]"


def hostile_runs():
    """Old and new runs in which every text of a framework, package or file contains control characters and markup."""
    surfaces = (NN, HOSTILE)
    old = alpha(result(POOL, NN), result(POOL, HOSTILE), result(CONV, HOSTILE), surfaces=surfaces)
    died = example.died(POOL, NN, "crashed", HOSTILE)
    new = alpha(
        died,
        differing(POOL, HOSTILE, WRONG, None, kind="shape", message=HOSTILE),
        surfaces=surfaces,
        environment=environment(packages={"alpha": HOSTILE, HOSTILE: "1"}, platform=HOSTILE, setup={NN: HOSTILE}),
    )
    asked = alpha(result(BORDER, NN), convention(NN, None, "real-cells", "x"))
    answered = alpha(result(BORDER, NN), convention(NN, None, HOSTILE, "x"))
    return [(old, new), (asked, answered)]


def write_hostile_runs(folder):
    """Write the hostile runs, including lone surrogates, which JSON allows; return the pairs of old and new paths."""
    pairs = []
    for number, runs in enumerate(hostile_runs()):
        pairs.append([folder / f"{name}{number}.jsonl" for name in ("old", "new")])
        for path, records in zip(pairs[-1], runs, strict=True):
            path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return pairs
