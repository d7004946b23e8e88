"""Exploration of surfaces with planted bugs. The tests use the fixture `planted`, which provides the backend."""

import sys

from conformance.adapters import registry
from conformance.exploration.evaluation import LocalEvaluator
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.space import OperatorSpace
from conformance.judging.ledger import Ledger


def evaluator_of(*bugs, jobs=1, limits=None):
    """Return an evaluator of the planted backend, with the surfaces that have these bugs."""
    names = [f"planted.{name}" for name in bugs]
    return LocalEvaluator(
        registry.get_backend("planted"), sys.executable, Ledger(), surfaces=names, jobs=jobs, limits=limits
    )


def explore(evaluator, sweeps, cases, *operators, seed=0):
    """Explore operators with an evaluator until this number of cases; return the explorer."""
    with evaluator:
        explorer = Explorer(evaluator, {name: OperatorSpace.from_sweeps(name, sweeps) for name in operators}, seed)
        explorer.explore(StopCondition(cases))
    return explorer
