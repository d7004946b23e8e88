"""Parse parameters as the caller writes them into tuples of integers.

Everything here raises ValueError for a wrong value and TypeError for a wrong type, and says which parameter,
which value and which limit.
"""

import math
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]
PerAxis: TypeAlias = int | Sequence[int]
PaddingArgument: TypeAlias = int | str | Sequence[int | Sequence[int]]
PadPairs: TypeAlias = tuple[tuple[int, int], ...]

FLOAT_DTYPES: tuple[DType, ...] = tuple(
    np.dtype(kind) for kind in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
)
INTEGER_DTYPES: tuple[DType, ...] = tuple(
    np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)
)
BOOL_DTYPE: DType = np.dtype(np.bool_)

# Far beyond any tensor, and small enough that no product of two parameters leaves int64.
MAX_PARAMETER = 2**31 - 1

# Maximum number of elements of one plane of output. A larger request is a mistaken number.
MAX_PLANE_ELEMENTS = 2**28

# Padding of one axis: (before, after).
PAIR_LENGTH = 2


def number_of_dtype(name: str, value: Any, dtype: DType) -> Array:
    """Return a number as an array () of a dtype, rounded if it is floating.

    Raises TypeError if the value is not one real number, ValueError if no integer or boolean of the dtype equals it.
    """
    number = as_array(name, value)
    if number.ndim or number.dtype not in (*FLOAT_DTYPES, *INTEGER_DTYPES, BOOL_DTYPE):
        raise TypeError(f"{name} {value!r} must be one number")
    with np.errstate(all="ignore"):
        constant: Array = number.astype(dtype)
    if dtype not in FLOAT_DTYPES and constant.item() != number.item():
        raise ValueError(f"{name} {value!r} is no {dtype}")
    return constant


def check_image(x: npt.ArrayLike, accepted: Collection[DType]) -> Array:
    """Return x as an array (n, c, *spatial) of an accepted dtype.

    Raises ValueError if there is no spatial axis, TypeError if the dtype is not one of `accepted`.
    """
    array = check_dtype("x", x, accepted)
    if array.ndim < 3:  # noqa: PLR2004
        raise ValueError(f"x has shape {array.shape}: expected (n, c, *spatial) with at least one spatial axis")
    return array


def check_dtype(name: str, x: npt.ArrayLike, accepted: Collection[DType]) -> Array:
    """Return x as an array. Raise TypeError with the accepted dtypes if its dtype is not one of `accepted`."""
    array = as_array(name, x)
    if array.dtype not in accepted:
        raise TypeError(f"{name} has dtype {array.dtype}: accepted are {', '.join(map(str, accepted))}")
    return array


def as_array(name: str, x: npt.ArrayLike) -> Array:
    """Return x as an array; raise ValueError if its lists differ in length."""
    try:
        return np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} {x!r} is no array") from None


def parse_integer(name: str, value: object, least: int | None, where: str = "") -> int:
    """Return value as an int of at least `least`. Booleans are rejected."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} {value!r}{where} must be an integer")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} {value!r}{where} must be an integer") from None
    lower = -MAX_PARAMETER if least is None else least
    if number < lower:
        raise ValueError(f"{name} {number}{where} must be at least {lower}")
    if number > MAX_PARAMETER:
        raise ValueError(f"{name} {number}{where} must be at most {MAX_PARAMETER}")
    return number


def check_plane_size(name: str, extents: Sequence[int]) -> None:
    """Raise ValueError if a plane of these extents has more elements than any tensor can have."""
    elements = math.prod(extents)
    if elements > MAX_PLANE_ELEMENTS:
        raise ValueError(f"{name} {tuple(extents)} makes {elements} elements a plane: at most {MAX_PLANE_ELEMENTS}")


def entries_per_axis(name: str, value: object, rank: int) -> tuple[object, ...]:
    """Return one entry per spatial axis: a sequence of that length as it is, anything else repeated."""
    if not is_sequence(value):
        return (value,) * rank
    listed: tuple[object, ...] = tuple(value)  # type: ignore[arg-type]
    if len(listed) != rank:
        raise ValueError(f"{name} {value!r} has {len(listed)} entries: expected {rank}, one per spatial axis")
    return listed


def is_sequence(value: object) -> bool:
    """Return whether value lists its entries: a tuple, a list or an array with axes, not a string."""
    if isinstance(value, (tuple, list)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, np.generic))


def integers_per_axis(name: str, value: object, rank: int, least: int) -> tuple[int, ...]:
    """Return one integer of at least `least` per spatial axis, from a scalar or a sequence."""
    listed = entries_per_axis(name, value, rank)
    return tuple(parse_integer(name, entry, least, f" on axis {axis}") for axis, entry in enumerate(listed))


def pairs_per_axis(name: str, value: object, rank: int, least: int | None) -> PadPairs:
    """Return one (before, after) per spatial axis, from a scalar, or a number or a pair per axis."""
    return tuple(
        _parse_pair(name, entry, axis, least) for axis, entry in enumerate(entries_per_axis(name, value, rank))
    )


def _parse_pair(name: str, entry: object, axis: int, least: int | None) -> tuple[int, int]:
    ends = tuple(entry) if is_sequence(entry) else (entry, entry)  # type: ignore[arg-type]
    if len(ends) != PAIR_LENGTH:
        raise ValueError(f"{name} {entry!r} on axis {axis} must be a number or a pair (before, after)")
    before, after = (parse_integer(name, end, least, f" on axis {axis}") for end in ends)
    return before, after


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return value if it is one of the choices; raise ValueError, naming them, if not."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} {value!r} must be one of {', '.join(choices)}")
    return value
