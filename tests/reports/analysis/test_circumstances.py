"""The circumstances that differ between two runs."""

from reports.analysis.circumstances import DifferingFact
from tests.support import example_results as example
from tests.support.compared_runs import (
    NN,
    POOL,
    alpha,
    environment,
)
from tests.support.example_results import result


def test_different_circumstances_are_listed_and_change_no_status(compared, diff):
    packages = {"alpha": "2.2.0", "beta": "1"}
    new = alpha(
        result(POOL, NN),
        environment=environment(
            packages=packages, python="3.12.1", instructions="avx2", setup={NN: "import alpha\nalpha.quick()\n"}
        ),
        catalogue={"version": "1.1.0", "digest": "0123456789abcdef", "cases": 3},
        ledger="aa",
        level="standard",
        repeat=3,
        selection={"surfaces": [], "operators": ["conv"], "cases": []},
    )
    old = alpha(result(POOL, NN))
    assert list(compared(old, new).facts) == [
        DifferingFact("alpha", "2.1.0", "2.2.0"),
        DifferingFact("numpy", "2.4.6", "none"),
        DifferingFact("Python", "3.11.7", "3.12.1"),
        DifferingFact("instructions", "unknown", "avx2"),
        DifferingFact("catalogue", "(5f1d0a4be6a9)", "1.1.0 (0123456789ab)"),
        DifferingFact("ledger", "none", "aa"),
        DifferingFact("level", "smoke", "standard"),
        DifferingFact("repeat", "1", "3"),
        DifferingFact("selected operators", "all", "conv"),
        DifferingFact("beta", "none", "1"),
        DifferingFact("setup of alpha.nn", "import numpy as np; alpha.set_num_threads(1)", "alpha.quick()"),
    ]
    status, out, _ = diff(old, new)
    assert (status, out.splitlines()[0]) == (0, "alpha: 2.1.0 → 2.2.0")


def test_missing_processor_instructions_are_listed_if_both_processors_are_known(compared):
    one, other, silent = (
        alpha(result(POOL, NN), environment=environment(**cpu))
        for cpu in ({"cpu": ["avx2", "fma"]}, {"cpu": ["fma", "amx"]}, {})
    )
    assert list(compared(one, other).facts) == [DifferingFact("processor has", "avx2", "amx")]
    assert list(compared(one, silent).facts) == []


def test_same_circumstance_of_several_backends_is_listed_once(compared):
    old, new = (
        [example.run(name, [f"{name}.nn"], [result(POOL, f"{name}.nn")], ledger=ledger) for name in ("alpha", "beta")]
        for ledger in ("aa", "bb")
    )
    assert compared(old, new).facts == {DifferingFact("ledger", "aa", "bb"): ("alpha", "beta")}
