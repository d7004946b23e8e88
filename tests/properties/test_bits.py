"""Results and bounds have the same bits under every NumPy, BLAS and set of processor features."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests import ROOT
from tests.support import result_digests

# The same under NumPy 1.23.5 and 2.4.6. A change here is a change of results: say so in CHANGELOG.md.
PINNED = {
    "avg_pool": "7e8ae13d48b319a2926a7b9ea45f909e",
    "avg_pool of sevens": "a77523aad3745f3855b3a175d6df9806",
    "bound of avg_pool": "2c5151e38a2f451c749127b4b7485383",
    "bound of conv": "7ce0110bbad1f89925766fe4fabe7440",
    "conv": "5a1c67bfb4d57446b00289bff57eefe8",
    "conv in groups": "8b644ee52dcc608c59057c127b2d000b",
    "max_pool": "4cad2511afda7216a4beab239245df5d",
    "min_pool": "a7dc6c121e44272c352dd6bb5a68297d",
    "pad": "17cc612ee130d0e56ef84c65cb376a7a",
}


def cpu():
    """Return the features that NumPy finds in this machine, and those for which it has code of its own."""
    try:
        from numpy._core import _multiarray_umath as core  # noqa: PLC0415
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as core  # noqa: PLC0415
    return {name for name, found in core.__cpu_features__.items() if found}, core.__cpu_dispatch__


FEATURES, DISPATCHED = cpu()
USABLE = [name for name in DISPATCHED if name in FEATURES]
CORES = ["Prescott", "Nehalem", *(["Haswell"] if {"AVX2", "FMA3"} <= FEATURES else [])]
ENVIRONMENTS = {
    **{f"a BLAS for {core}": {"OPENBLAS_CORETYPE": core} for core in CORES},
    "one thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    "many threads": {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"},
    "no feature": {"NPY_DISABLE_CPU_FEATURES": " ".join(USABLE), "OPENBLAS_CORETYPE": "Prescott"},
    "the oldest features": {"NPY_DISABLE_CPU_FEATURES": " ".join(USABLE[len(USABLE) // 2 :])},
}


def elsewhere(arguments, environment):
    """Run Python in another environment."""
    paths = str(ROOT)
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        check=True,
        capture_output=True,
        text=True,
    )


def combined(found):
    """Return one digest a call, of all its dtypes and inputs."""
    lines = {}
    for case in sorted(found):
        lines.setdefault(case.split(",")[0], []).append(found[case])
    return {
        call: hashlib.blake2b(" ".join(parts).encode(), digest_size=16).hexdigest() for call, parts in lines.items()
    }


def test_results_are_the_pinned_ones():
    assert combined(result_digests.digests()) == PINNED


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_results_are_the_same_in_another_environment(environment):
    assert combined(json.loads(elsewhere([result_digests.__file__], environment).stdout)) == PINNED


@pytest.mark.skipif(not USABLE, reason="NumPy has no code of its own for this machine")
def test_features_are_really_disabled():
    code = "from tests.properties import test_bits; print(test_bits.USABLE)"
    assert elsewhere(["-c", code], ENVIRONMENTS["no feature"]).stdout.strip() == "[]"


def test_a_digest_sees_one_bit():
    x = np.zeros(8)
    changed = x.copy()
    changed.view(np.int64)[3] ^= 1
    assert combined({"case, float64": x.tobytes().hex()}) != combined({"case, float64": changed.tobytes().hex()})


@pytest.mark.parametrize("dtype", result_digests.DTYPES)
def test_the_inputs_hold_what_is_special(dtype):
    with np.errstate(invalid="ignore"):
        x = result_digests.anything(dtype, (2, 8, 23, 21), 1).astype(np.float64)
    assert np.isnan(x).any()
    assert np.isinf(x).any()
    assert (np.signbit(x) & (x == 0)).any()
    assert np.isfinite(result_digests.moderate(dtype, (999,), 1).astype(np.float64)).all()
