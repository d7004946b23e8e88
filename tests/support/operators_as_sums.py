"""Every operator that adds, as a function of its terms (outputs, n), and of a divisor or of weights (n,).

Each returns the Exact of a result that adds exactly those n terms: once per output, or once per cell of the
output's plane, with equal results.
"""

import numpy as np

import reference


def _of(name, *arrays, **parameters):
    return reference.OPERATORS[name](*arrays, **parameters)


def _cells(outputs, dtype, *plane):
    return np.zeros((1, outputs, *(plane or (1,))), dtype)


# Divided sums.


def _avg_pool_grad(x, divisor):
    """Every cell is in n windows; the other positions are padding."""
    n = x.shape[1]
    return _of("avg_pool_grad", x[None], _cells(len(x), x.dtype), n, stride=1, padding=n - 1, divisor=divisor)


def _split(name):
    """As many equal cells as the divisor says share the gradients of n windows."""

    def gradient(x, divisor):
        n = x.shape[1]
        where = {"window": (n, divisor), "stride": 1, "padding": (n - 1, 0), "ties": "split"}
        return _of(name, x[None, ..., None], _cells(len(x), x.dtype, 1, divisor), **where)

    return gradient


def _bins(name, **parameters):
    """As many cells as the divisor says lie in the same n bins."""

    def gradient(x, divisor):
        n = x.shape[1]
        return _of(name, x[None, ..., None], _cells(len(x), x.dtype, 1, divisor), (n, 1), **parameters)

    return gradient


def _plane(name, **parameters):
    """The one window of a plane of as many cells as the divisor says."""
    return lambda x, divisor: _of(name, x[None], _cells(len(x), x.dtype, divisor), **parameters)


AVERAGES = {
    "avg_pool": lambda x, divisor: _of("avg_pool", x.reshape(1, 1, -1), x.shape[1], divisor=divisor),
    "global_avg_pool": lambda x, _: _of("global_avg_pool", x[None]),
    "adaptive_avg_pool": lambda x, _: _of("adaptive_avg_pool", x.reshape(1, 1, -1), len(x)),
    "avg_pool_grad": _avg_pool_grad,
    "global_avg_pool_grad": _plane("global_avg_pool_grad"),
    "adaptive_avg_pool_grad": _bins("adaptive_avg_pool_grad"),
    "max_pool_grad, split": _split("max_pool_grad"),
    "min_pool_grad, split": _split("min_pool_grad"),
    "global_max_pool_grad, split": _plane("global_max_pool_grad", ties="split"),
    "adaptive_max_pool_grad, split": _bins("adaptive_max_pool_grad", ties="split"),
}
# The number of terms is the divisor.
FIXED_DIVISOR = {"global_avg_pool", "adaptive_avg_pool"}
# A plane has as many cells as the divisor says.
DIVISOR_OF_CELLS = {name for name in AVERAGES if name.startswith(("global", "adaptive")) or "split" in name}
DIVISOR_OF_CELLS -= FIXED_DIVISOR
# Every cell is in one window: there is one term.
ONE_TERM = {"global_avg_pool_grad", "global_max_pool_grad, split"}


# Scalar products.


def _conv_x_grad(x, kernel):
    cells = np.zeros((len(x), 1, 1), x.dtype)
    return _of("conv_grad", x[..., None], cells, kernel[:, None, None])[0]


def _conv_kernel_grad(x, kernel):
    weights = np.zeros((len(x), 1, 1), x.dtype)
    return _of("conv_grad", x.T[..., None], kernel[:, None, None], weights)[1]


def _conv_transpose_x_grad(x, kernel):
    cells = np.zeros((len(x), 1, 1), x.dtype)
    return _of("conv_transpose_grad", x[..., None], cells, kernel[None, :, None])[0]


def _conv_transpose_kernel_grad(x, kernel):
    weights = np.zeros((1, len(x), 1), x.dtype)
    return _of("conv_transpose_grad", x.T[..., None], kernel[:, None, None], weights)[1]


DOTS = {
    "conv": lambda x, kernel: _of("conv", x[..., None], kernel[None, :, None]),
    "conv_transpose": lambda x, kernel: _of("conv_transpose", x[..., None], kernel[:, None, None]),
    "conv_grad, x": _conv_x_grad,
    "conv_grad, kernel": _conv_kernel_grad,
    "conv_transpose_grad, x": _conv_transpose_x_grad,
    "conv_transpose_grad, kernel": _conv_transpose_kernel_grad,
}


# Sums.


def _covered(name, **parameters):
    """One cell, in n windows; what else they cover is padding."""

    def gradient(x):
        n = x.shape[1]
        return _of(name, x[None], _cells(len(x), x.dtype), n, stride=1, padding=n - 1, **parameters)

    return gradient


def _fractional_max_pool_grad(x):
    """Of 2n − 1 cells the middle one is the largest, and in all n windows."""
    outputs, n = x.shape
    cells = np.zeros((1, outputs, 2 * n - 1), x.dtype)
    cells[..., n - 1] = 1
    exact = _of("fractional_max_pool_grad", x[None], cells, n, n, np.zeros((1, outputs, 1), x.dtype))
    parts = {name: getattr(exact, name) for name in ("value", "high", "low", "terms", "magnitude")}
    parts = {name: None if part is None else part[..., n - 1 : n] for name, part in parts.items()}
    return reference.Exact(**parts, extra=0.0, exact=exact.exact)


def _stochastic_pool_grad(x):
    n, cell = x.shape[1], np.ones((1, len(x), 1), x.dtype)
    return _of("stochastic_pool_grad", x[None], cell, n, np.zeros_like(x[None]), stride=1, padding=n - 1)


def _bias_grad(name, kernel):
    """kernel: the shape of a kernel from one channel to some."""

    def gradient(x):
        n, outputs = x.shape[1], len(x)
        arrays = np.zeros((n, 1, 1), x.dtype), np.zeros(kernel(outputs), x.dtype), np.zeros(outputs, x.dtype)
        return _of(name, x.T[..., None], *arrays)[2]

    return gradient


def _columns(x):
    """The columns of n windows of n cells that contain one cell; all their other cells are padding."""
    outputs, n = x.shape
    columns = np.zeros((1, outputs, n, n), x.dtype)
    columns[0, :, np.arange(n)[::-1], np.arange(n)] = x.T
    return columns.reshape(1, outputs * n, n)


def _fold(x):
    return _of("fold", _columns(x), 1, x.shape[1], padding=x.shape[1] - 1)


def _unfold_grad(x):
    return _of("unfold_grad", _columns(x), _cells(len(x), x.dtype), x.shape[1], padding=x.shape[1] - 1)


def _dilation_x_grad(x):
    """One cell, in n windows; what else they cover is padding."""
    outputs, n = x.shape
    weights = np.zeros((outputs, 1, n), x.dtype)
    return _of("dilation2d_grad", x[None], _cells(outputs, x.dtype), weights, padding=n - 1)[0]


def _dilation_kernel_grad(x):
    """One weight, in the n windows of a plane."""
    return _of("dilation2d_grad", x[None], np.zeros_like(x[None]), np.zeros((len(x), 1, 1), x.dtype))[1]


SUMS = {
    "fold": _fold,
    "unfold_grad": _unfold_grad,
    "max_pool_grad": _covered("max_pool_grad"),
    "max_pool_grad, last": _covered("max_pool_grad", ties="last"),
    "max_pool_grad, all": _covered("max_pool_grad", ties="all"),
    "min_pool_grad": _covered("min_pool_grad"),
    "max_pool_with_indices_grad": _covered("max_pool_with_indices_grad"),
    "adaptive_max_pool_grad": lambda x: _of("adaptive_max_pool_grad", x[None], _cells(len(x), x.dtype), x.shape[1]),
    "fractional_max_pool_grad": _fractional_max_pool_grad,
    "stochastic_pool_grad": _stochastic_pool_grad,
    "conv_grad, bias": _bias_grad("conv_grad", lambda outputs: (outputs, 1, 1)),
    "conv_transpose_grad, bias": _bias_grad("conv_transpose_grad", lambda outputs: (1, outputs, 1)),
    "pad_grad": lambda x: _of("pad_grad", x[None], _cells(len(x), x.dtype), [(x.shape[1] - 1, 0)], mode="edge"),
    "dilation2d_grad, x": _dilation_x_grad,
    "dilation2d_grad, kernel": _dilation_kernel_grad,
}
