"""The switch that turns the certainty check off, for comparisons of speed only. The suite never does."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CERTAINTY_CHECK: ContextVar[bool] = ContextVar("certain", default=True)


def is_certainty_checked() -> bool:
    """Return whether results are made certain. They are, except inside without_certainty_check()."""
    return _CERTAINTY_CHECK.get()


@contextmanager
def without_certainty_check() -> Iterator[None]:
    """Within this context, avg_pool and conv add in float64, and do not check that the result is rounded correctly.

    Their values may then be off in the last bit, depend on the BLAS, and be any NaN. Selections do not change.
    """
    token = _CERTAINTY_CHECK.set(False)
    try:
        yield
    finally:
        _CERTAINTY_CHECK.reset(token)
