"""Bound what a common distribution of draws can gain, if the planted bugs are known.

Independent draws of each operator are made, and whether each bug shows is evaluated. The draws are then weighted by the
kinds of their factors, as coverage guidance counts them: the weight of a draw is the product of the weights of its
kinds, which are the same for all operators. The weights that maximise the geometric mean of the share of draws that
show a bug are those of the best guide of this form. No guide that does not know the bugs can find better ones.

    python benchmarks/explore_optimum.py --draws 250 --fit 12

`--fit` names the sets for which the weights are optimised. The gain is printed for these sets and for the others. A bug
that no draw shows is left out: no weight of the draws changes that.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from planted_calls import _can_check as can_check, differs, planted_bugs

from conformance.adapters import registry
from conformance.cases.case import Rejected
from conformance.catalogue import loading
from conformance.exploration.coverage import factor_kinds
from conformance.exploration.rng import Rng
from conformance.exploration.space import OperatorSpace

STEPS, RATE, DECAY = 400, 0.2, 1e-3
"""Number of steps of the gradient ascent, its rate, and the decay of the logarithms of the weights."""
Array = np.ndarray
Table = tuple[Array, Mapping[str, Array]]
"""Kinds of each draw of an operator, (draws, kinds), and for each bug whether a draw shows it."""


def tables(count: int) -> Iterator[Table]:
    """Yield the table of each operator."""
    bugs, sweeps = planted_bugs(), loading.load_catalogue().sweeps
    registry.backend_names.cache_clear()
    found, names = [], dict[str, int]()
    for operator in sorted({bug.operators[0] for bug in bugs.values()}):
        space = OperatorSpace.from_sweeps(operator, sweeps)
        drawn = [space.draw(Rng("optimum", operator, number)) for number in range(count)]
        drawn = [one for one in drawn if not isinstance(one.case.expect, Rejected) and can_check(one)]
        kinds = [[names.setdefault(kind, len(names)) for kind in factor_kinds(one)] for one in drawn]
        some = [bug for bug in bugs.values() if bug.operators[0] == operator and not bug.rejected]
        found.append((kinds, {bug.name: np.array([differs(bug.surface, one) for one in drawn], float) for bug in some}))
        print(f"{operator}: {len(drawn)} draws, {len(some)} bugs", flush=True)
    for kinds, shown in found:
        matrix = np.zeros((len(kinds), len(names)))
        for row, columns in enumerate(kinds):
            matrix[row, columns] = 1
        yield matrix, {name: one for name, one in shown.items() if one.any()}


def gains(every: list[Table], logarithms: Array) -> dict[str, float]:
    """Return for each bug the logarithm of how much more often the weighted draws show it."""
    found = {}
    for matrix, shown in every:
        weights = draw_weights(matrix, logarithms)
        found |= {name: float(np.log(weights @ one) - np.log(one.mean())) for name, one in shown.items()}
    return found


def draw_weights(matrix: Array, logarithms: Array) -> Array:
    """Return the weight of each draw of an operator; their sum is 1."""
    exponents = matrix @ logarithms
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def optimise(every: list[Table], fitted: set[str]) -> Array:
    """Return the logarithms of the weights that maximise the mean gain of some bugs, by gradient ascent."""
    logarithms = np.zeros(every[0][0].shape[1])
    for _ in range(STEPS):
        gradient = np.zeros_like(logarithms)
        for matrix, shown in every:
            weights = draw_weights(matrix, logarithms)
            mean = weights @ matrix
            for name, one in shown.items():
                if name in fitted:
                    hits = weights * one
                    gradient += hits @ matrix / hits.sum() - mean
        logarithms += RATE * (gradient / np.sqrt(len(fitted)) - DECAY * len(fitted) * logarithms)
    return logarithms


def main() -> None:
    """Parse the command line; print the gains."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=250)
    parser.add_argument("--fit", default="12", metavar="SETS", help="sets for which the weights are optimised")
    arguments = parser.parse_args()
    every, bugs = list(tables(arguments.draws)), planted_bugs()
    names = [name for _, shown in every for name in shown]
    known = {name for name in names if str(bugs[name].planted_set) in arguments.fit}
    for title, fitted in ((f"fitted to sets {arguments.fit}", known), ("fitted to all sets", {*names})):
        found = gains(every, optimise(every, fitted))
        for group, some in (("fitted", fitted), ("others", {*names} - fitted)):
            if some:
                mean = np.exp(np.mean([found[name] for name in some]))
                print(f"{title}, {group}: {len(some)} bugs, shown {mean:.2f} times as often")


if __name__ == "__main__":
    main()
