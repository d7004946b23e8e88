"""The kernels of interpolation: the weight of a cell by its distance from a coordinate, exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import MappingProxyType

from reference.geometry.sines import sinc


@dataclass(frozen=True)
class InterpolationKernel:
    """A continuous function that gives a cell at distance s of a coordinate the weight of that cell.

    reach: the kernel is 0 from this distance on. slope: the largest absolute value of its derivative.
    evaluation: the error of its evaluation, in unit roundoffs; see weight_errors.
    """

    weight: Callable[[Fraction], Fraction]
    reach: Fraction
    slope: Fraction
    evaluation: Fraction

    @classmethod
    def of(cls, mode: str, cubic_a: float, step: Fraction) -> InterpolationKernel:
        """Return the kernel of a mode. step: cells of x for each output cell, which determine the kernel of `area`."""
        if mode == "linear":
            return cls(lambda distance: 1 - distance, Fraction(1), Fraction(1), Fraction(0))
        if mode == "area":
            return area_kernel(step)
        return lanczos_kernel(LANCZOS_LOBES[mode]) if mode in LANCZOS_LOBES else cubic_kernel(cubic_a)


def cubic_kernel(cubic_a: float) -> InterpolationKernel:
    """Return the cubic convolution of Keys with the parameter a.

    Source: R. G. Keys, "Cubic convolution interpolation for digital image processing", IEEE Transactions on
    Acoustics, Speech, and Signal Processing 29 (1981), equation 15.
    """
    a = Fraction(repr(float(cubic_a)))

    def keys(s: Fraction) -> Fraction:
        if s <= 1:
            return ((a + 2) * s - (a + 3)) * s * s + 1
        return a * (((s - 5) * s + 8) * s - 4)

    # On [0, 1] the derivative is least at (a + 3) / (3(a + 2)); on [1, 2] it is between a and -a / 3.
    slope = max((a + 3) ** 2 / (3 * (a + 2)), abs(a))
    # Horner's rule for a cubic polynomial is off by at most γ(7) · Σ |coefficient| sᵏ, s <= 2 (Higham, 5.1).
    magnitude = max(abs(a) * (8 + 20 + 16 + 4), abs(a + 2) + abs(a + 3) + 1)
    return InterpolationKernel(keys, Fraction(2), slope, 7 * magnitude)


def area_kernel(step: Fraction) -> InterpolationKernel:
    """Return the length that a cell has in common with an output cell, which has the length of `step` cells.

    Both ends of the output cell are rounded, so the error is at most that of twice the slope.
    """
    largest = min(step, Fraction(1))
    reach = (step + 1) / 2
    return InterpolationKernel(lambda distance: min(largest, reach - distance), reach, Fraction(2), Fraction(0))


LANCZOS_LOBES: Mapping[str, int] = MappingProxyType({"lanczos3": 3, "lanczos5": 5})
"""The reach of each kernel of Lanczos."""
# |sinc'| is at most 1.371 π⁻¹ · π, so this is more than the slope of sinc(s) for numbers in units of cells.
SINC_SLOPE = Fraction(1371, 1000)
# γ(3) of the arguments, times 0.4363 πa for a = 5 and for each factor; 4 for each sine; and the weight 1 that JAX uses
# for all distances below 0.001, which is off by less than 1.9e-6, or 32 roundoffs of float32.
LANCZOS_EVALUATION = Fraction(128)


@cache
def lanczos_kernel(lobes: int) -> InterpolationKernel:
    """Return sinc(s) · sinc(s / lobes) with sinc(s) = sin(πs) / (πs), with an error of at most 2**-180.

    At whole distances it is exact. Source: C. E. Duchon, "Lanczos filtering in one and two dimensions", Journal of
    Applied Meteorology 18 (1979).
    """

    @cache
    def weight(distance: Fraction) -> Fraction:
        return Fraction(1) if distance == 0 else sinc(distance) * sinc(distance / lobes)

    slope = SINC_SLOPE * (1 + Fraction(1, lobes))
    return InterpolationKernel(weight, Fraction(lobes), slope, LANCZOS_EVALUATION)
