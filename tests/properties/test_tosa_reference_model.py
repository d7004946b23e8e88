"""Convolutions of int8 against the reference model of TOSA, a second implementation.

CONFORMANCE_TOSA_PYTHON is the path of a Python that has tosa-tools. It needs an environment of its own: the package has
a top-level module `conformance`, too.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import reference

PYTHON = os.environ.get("CONFORMANCE_TOSA_PYTHON", "")
SCRIPT = Path(__file__).parent.parent / "support" / "tosa_model.py"
pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_TOSA_PYTHON is not set")


def tosa(folder, shape, **call):
    """Return the result of TOSA with channels first."""
    n, c, *spatial = shape
    np.savez(folder / "call.npz", shape=[n, *spatial, c], **call)
    done = subprocess.run([PYTHON, SCRIPT, folder / "call.npz", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.moveaxis(np.load(folder / "ref-result-0.npy"), -1, 1)


def numbers(shape, seed):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize("zeros", [(0, 0), (-7, 5), (127, -128)])
@pytest.mark.parametrize(
    ("size", "geometry"),
    [
        ((6, 5), {"stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0)}),
        ((6, 6), {"stride": (1, 2), "dilation": (2, 1), "pad": (1, 1, 1, 0)}),
        ((9, 7), {"stride": (2, 2), "dilation": (1, 1), "pad": (1, 0, 2, 0)}),
    ],
)
def test_sums_of_convolutions_are_those_of_tosa(size, geometry, zeros, tmp_path):
    x, kernel, pad = numbers((2, 3, *size), 0), numbers((4, 3, 2, 3), 1), geometry["pad"]
    given = {"stride": geometry["stride"], "dilation": geometry["dilation"], "padding": (pad[:2], pad[2:])}
    expected = reference.conv_integer(x, kernel, **given, x_zero_point=zeros[0], w_zero_point=zeros[1])
    got = tosa(tmp_path, expected.shape, x=x, kernel=kernel, **geometry, x_zero=zeros[0], w_zero=zeros[1])
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype
