"""The switch that turns the certainty check off, for comparisons of speed only. The suite never does."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CERTAIN: ContextVar[bool] = ContextVar("certain", default=True)


def certain() -> bool:
    """Tell whether results are made certain, as they are unless unchecked() says otherwise."""
    return _CERTAIN.get()


@contextmanager
def unchecked() -> Iterator[None]:
    """Within this context avg_pool and conv add in float64 and round, with no look at what rounding dropped.

    Their values may then be off in the last bit, depend on the BLAS, and be any NaN. Selections are as ever.
    """
    token = _CERTAIN.set(False)
    try:
        yield
    finally:
        _CERTAIN.reset(token)
