"""Inputs, and ways to evaluate them, whose errors come as near to the bound as we know how, for every operator.

    python tests/adversaries.py > docs/bounds.md

prints how much of the bound they use, next to the medians of random inputs.
"""

import statistics

import numpy as np

import reference
from tests.support.evaluation_orders import (
    ACCUMULATIONS,
    NAMES,
    averages,
    dots,
    left_to_right,
    pairwise,
    probabilities,
    probability_grads,
    random,
    roundoff,
)
from tests.support.operators_as_sums import AVERAGES, DIVISOR_OF_CELLS, DOTS, ONE_TERM, SUMS
from tests.support.worst_case_curves import norm, norm_by, probability, softmax, softmax_by
from tests.support.worst_case_gradients import norm_grad, norm_grad_of, probability_grad, softmax_grad, softmax_grad_of
from tests.support.worst_case_sums import average, dot, plain_sum, shares

SIZES = [1, 2, 3, 4, 6, 9, 16, 49, 100, 121, 256, 512, 1017, 4096]
LARGE = 512

CURVED = {
    "softmax_pool": softmax,
    "lp_pool": norm,
    "stochastic_pool_probabilities": probability,
    "softmax_pool_grad": softmax_grad,
    "lp_pool_grad": norm_grad,
    "stochastic_pool_probabilities_grad": probability_grad,
}
OPERATORS = {
    **dict.fromkeys(AVERAGES, average),
    **dict.fromkeys(DOTS, dot),
    **dict.fromkeys(SUMS, plain_sum),
    **CURVED,
}


def roundings(operator, n):
    """Return the bound's number of factors, which times u must be below 1/2."""
    return {"softmax_pool_grad": n + 10, "stochastic_pool_probabilities_grad": 3 * n + 8}.get(operator, n + 3)


def occurs(operator, n):
    """Tell whether an operator can add n terms."""
    return n == 1 if operator in ONE_TERM else operator != "softmax_pool" or n % 2 == 0


POINTS = [
    (operator, dtype, accumulate, n)
    for operator in OPERATORS
    for dtype, accumulate in ACCUMULATIONS
    for n in SIZES
    if occurs(operator, n) and roundings(operator, n) * roundoff(accumulate) < 1 / 2
]


def reach(operator, dtype, accumulate, n):
    """Return what the adversary of an operator reaches with n terms."""
    return OPERATORS[operator](operator, dtype, accumulate, n)


# Random inputs.


def _usual_average(operator, x, accumulate):
    n = 3 if operator in DIVISOR_OF_CELLS else x.shape[1]
    return AVERAGES[operator](x, n), [got for _, got in averages(x, n, accumulate, [left_to_right, pairwise])]


def _usual_dot(operator, x, accumulate):
    kernel = random(np.random.default_rng(0), x.shape[1], x.dtype)
    exact = DOTS[operator](x, kernel)
    return exact, [got for _, got in dots(x, np.broadcast_to(kernel, x.shape), accumulate, [left_to_right, pairwise])]


def _usual_sum(operator, x, accumulate):
    of = {"softmax_pool_grad": softmax_grad_of, "lp_pool_grad": norm_grad_of, **SUMS}[operator]
    return of(x), [order(x.astype(accumulate)) for order in (left_to_right, pairwise)]


def _usual_softmax(operator, x, accumulate):
    x = x[:8, : x.shape[1] // 2]
    return reference.OPERATORS[operator](x.reshape(1, 1, -1), x.shape[1]), [softmax_by(x, accumulate, 0, True)]


def _usual_norm(operator, x, accumulate):
    return reference.OPERATORS[operator](x.reshape(1, 1, -1), x.shape[1]), [norm_by(x, accumulate, 0)]


def _usual_probability(operator, x, accumulate):
    x = np.abs(x)
    return reference.OPERATORS[operator](x.reshape(1, 1, -1), x.shape[1]), list(probabilities(x.astype(accumulate)))


def _usual_probability_grad(operator, x, accumulate):
    # The reference adds rationals here, and takes its time for it.
    grad, x = x[:4], np.abs(x[-4:])
    exact = reference.OPERATORS[operator](grad[None, None], x.reshape(1, 1, -1), x.shape[1])
    return exact, list(probability_grads(x.astype(accumulate), grad.astype(accumulate)))


USUAL = {
    average: _usual_average,
    dot: _usual_dot,
    plain_sum: _usual_sum,
    softmax_grad: _usual_sum,
    norm_grad: _usual_sum,
    softmax: _usual_softmax,
    norm: _usual_norm,
    probability: _usual_probability,
    probability_grad: _usual_probability_grad,
}


def usual(operator, dtype, accumulate, n):
    """Return the median share that random inputs use: left to right and in pairs, every way to divide."""
    x = random(np.random.default_rng(n), (64 if n <= LARGE else 8, n), dtype)
    exact, results = USUAL[OPERATORS[operator]](operator, x, accumulate)
    if not exact.bound(accumulate).any():
        # Nothing rounds, and nothing is off.
        return 0.0
    return statistics.median(np.concatenate([shares(exact, got, accumulate) for got in results]).tolist())


PAGE = """# How much of the bound is used

Written by `python tests/adversaries.py > docs/bounds.md`; `tests/test_reference_proof.py` holds it. The bound itself is
derived in `reference/bound.py`. Each cell reads *reached* / *median*: the largest share of the bound that the
adversary of `tests/adversaries.py` reaches, and the median over random inputs in [1, 2) of either sign. Operators with
the same table share it. n counts:

- the terms that are added, which is what windows give to a cell in most gradients;
- for softmax pooling, which adds twice, both sums: n = 2 · cells;
- for probabilities and their gradient the cells of the window.

A dash means that there is no bound: as many factors as the bound counts, n + 3 of most operators, n + 10 of the
gradient of softmax pooling and 3n + 8 of that of probabilities, make mu ≥ 1/2.

`split`, `last` and `all` are the rules for ties of the gradients of maxima and minima.

Half of the bound is out of reach in two places, marked ·, and there the adversary reaches at least 80 % of the most
that is possible:

- **Few terms.** The bound grants n + 3 roundings, and one of the result. One term of a convolution meets one rounding
  (its product), of an average at most 2.5 (divisor, reciprocal, product), of softmax pooling two, and none that
  lasts where one term's result is coarser. They cannot reach half. A probability is one quotient: n roundings; and the
  quotient of a cell by itself is 1, without any. The gradient of probabilities takes 3n + 2 roundings of 3n + 8; for
  one cell it is 0, and what two ways to the same number leave of it is at most two units of their last digits.
- **Many terms in float16 and bfloat16.** n terms are off by at most (n − 1)u / (1 + (n − 1)u) · S, whatever the order
  (Lange and Rump, "Sharp estimates for perturbation errors in summations", 2019), while the bound grows as
  (n + 3)u / (1 − (n + 3)u): where (n + 3)u nears 1/2 that is a third of it. The bound stays as it is, because it holds
  for products, divisions and functions too, and needs no condition but (n + 3)u < 1/2.

Where functions are granted more than few terms, in the gradients of softmax and Lp pooling, exponentials and powers
are off by all that they are granted, and a difference that loses half a unit spoils its exponential: two cells as far
apart as exponentials are normal numbers, and p = 16.

Cells are blank where there is no such number of terms. Softmax pooling has no odd n: as many weights are added as
products of them, and cells beyond the border are no cells. Of a whole plane there is one window, which gives one term
to a cell: `global_avg_pool_grad` and `global_max_pool_grad, split`.

No table stands for what rounds nothing, whose bound is 0 (or at most would be, as n = 1 in the tables of sums): values
that are selected (`max_pool`, `min_pool`, `max_pool_with_indices`, `max_unpool`, `global_max_pool`,
`adaptive_max_pool`, `fractional_max_pool`, `stochastic_pool`, `pad`), all operators on integers, `max_unpool_grad`
(each value is given the gradient of one cell, or 0), and `global_max_pool_grad` unless ties split (one window gives to
a cell once at most).
"""


def main():
    tables = {}
    for operator in OPERATORS:
        tables.setdefault(_table(operator), []).append(operator)
    print(PAGE)
    for table, operators in tables.items():
        print(f"## {'; '.join(operators)}\n\n{table}\n")


def _table(operator):
    lines = ["| type, accumulated in | " + " | ".join(map(str, SIZES)) + " |", "|---|" + "---|" * len(SIZES)]
    for dtype, accumulate in ACCUMULATIONS:
        cells = [_cell((operator, dtype, accumulate, n)) for n in SIZES]
        lines.append(f"| {NAMES[dtype]}, {NAMES[accumulate]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(point):
    operator, _, accumulate, n = point
    if point not in POINTS:
        return "" if roundings(operator, n) * roundoff(accumulate) < 1 / 2 else "–"
    reached = reach(*point)
    mark = "·" if reached.share < 1 / 2 else ""
    return f"{reached.share:.2f}{mark} / {usual(*point):.2g}"


if __name__ == "__main__":
    main()
