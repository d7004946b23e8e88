"""Count the cases of other test suites for the operators of this suite, and write the counts to benchmarks/others.json.

    python benchmarks/others.py --onnx          with onnx installed
    python benchmarks/others.py --opinfo        with torch and expecttest installed
    python benchmarks/others.py --stablehlo     with jax and absl-py installed
    python benchmarks/others.py --tosa          with tosa-tools installed and its commands on the path; takes minutes

Each option replaces one part of the file and leaves the rest. BY_HAND below contains the parts that were counted by
hand, with their sources. `conformance catalogue` shows the counts next to those of this suite.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
OPINFO_DTYPE = "float32"

# Operator of this suite -> names of the operator in the other suite.
ONNX = {
    "max_pool": ["MaxPool"],
    "avg_pool": ["AveragePool"],
    "lp_pool": ["LpPool"],
    "global_max_pool": ["GlobalMaxPool"],
    "global_avg_pool": ["GlobalAveragePool"],
    "max_unpool": ["MaxUnpool"],
    "pad": ["Pad"],
    "conv": ["Conv"],
    "conv_transpose": ["ConvTranspose"],
}
RANKS = (1, 2, 3)
PAD_MODES = ("constant", "reflect", "replicate", "replicate_negative", "circular")
OPINFO = {
    "max_pool": [f"nn.functional.max_pool{rank}d" for rank in RANKS],
    "avg_pool": [f"nn.functional.avg_pool{rank}d" for rank in RANKS],
    "lp_pool": [f"nn.functional.lp_pool{rank}d" for rank in RANKS],
    "max_unpool": [f"nn.functional.max_unpool{rank}d" for rank in RANKS],
    "adaptive_max_pool": [f"nn.functional.adaptive_max_pool{rank}d" for rank in RANKS],
    "adaptive_avg_pool": [f"nn.functional.adaptive_avg_pool{rank}d" for rank in RANKS],
    "fractional_max_pool": [f"nn.functional.fractional_max_pool{rank}d" for rank in RANKS],
    "pad": [f"nn.functional.pad.{mode}" for mode in PAD_MODES],
    "conv": [f"nn.functional.conv{rank}d" for rank in RANKS],
    "conv_transpose": [f"nn.functional.conv_transpose{rank}d" for rank in RANKS],
}
STABLEHLO = {
    "max_pool": ["reduce_window_max"],
    "min_pool": ["reduce_window_min"],
    "avg_pool": ["reduce_window_add"],
    "max_pool_grad": ["select_and_scatter_add"],
    "pad": ["pad"],
    "conv": ["conv_general_dilated"],
}
TOSA_VERSION = "1.0.2"
TOSA = {
    "max_pool": ["max_pool2d"],
    "avg_pool": ["avg_pool2d"],
    "pad": ["pad"],
    "conv": ["conv2d", "conv3d", "depthwise_conv2d"],
    "conv_transpose": ["transpose_conv2d"],
}

WEBNN = "webmachinelearning/webnn-baseline"
BY_HAND = [
    {
        "name": "WebNN baseline",
        "what": f"`it(…)` blocks in `test/` of github.com/{WEBNN}: pool2d_test.js at 0a4bef73, l2pool2d_test.js at "
        "5d9c2f3d, pad_test.js at 72bd656e, conv_transpose2d_test.js at 1dde2344; 2-D, each layout counted. "
        "conv2d_test.js was not counted because it is 101,000 characters long",
        "counts": {
            "max_pool": 12,
            "avg_pool": 10,
            "global_avg_pool": 2,
            "lp_pool": 14,
            "pad": 5,
            "conv_transpose": 15,
        },
    },
    {
        "name": "WebNN conformance tests",
        "what": "not counted. github.com/web-platform-tests/wpt has pooling, pad, conv2d and conv_transpose2d in "
        "`webnn/conformance_tests/` (seen at dfa296f8), but the data of the cases were not available",
        "counts": {},
    },
]


def onnx_nodes() -> dict[str, object]:
    """Count the node tests of onnx by the operators in their models."""
    import onnx  # noqa: PLC0415 - each part needs its own package only
    from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415

    found: Counter[str] = Counter()
    for case in collect_testcases(None):
        found.update({node.op_type for node in case.model.graph.node})
    return {
        "name": "onnx node tests",
        "what": f"models of onnx {onnx.__version__} (`onnx.backend.test.case.node`) that contain the operator",
        "counts": {name: sum(found[other] for other in names) for name, names in ONNX.items()},
    }


def opinfo_samples() -> dict[str, object]:
    """Count the sample inputs of PyTorch's OpInfo on the CPU."""
    import torch  # noqa: PLC0415
    from torch.testing._internal.common_methods_invocations import op_db  # noqa: PLC0415

    dtype = getattr(torch, OPINFO_DTYPE)
    names = {name for parts in OPINFO.values() for name in parts}
    known = {op.full_name: len(list(op.sample_inputs("cpu", dtype))) for op in op_db if op.full_name in names}
    return {
        "name": "PyTorch OpInfo",
        "what": f"`sample_inputs` of torch {torch.__version__} on the CPU in {OPINFO_DTYPE}, all ranks and modes "
        "together; they are compared with another implementation or another dtype, not with expected numbers",
        "counts": {name: sum(known.get(part, 0) for part in parts) for name, parts in OPINFO.items()},
    }


def stablehlo_harnesses() -> dict[str, object]:
    """Count the harnesses of jax from which the test data of StableHLO are generated."""
    import jax  # noqa: PLC0415
    from jax._src.internal_test_util.test_harnesses import all_harnesses  # noqa: PLC0415

    found = Counter(harness.group_name for harness in all_harnesses)
    return {
        "name": "StableHLO testdata",
        "what": f"harnesses of jax {jax.__version__} (`jax._src.internal_test_util.test_harnesses`), from which the "
        "files in `stablehlo/testdata/` are generated, by primitive: reduce_window of max, min and add, "
        f"select_and_scatter_add, pad, conv_general_dilated; {len(all_harnesses):,} for all primitives; "
        "the expected numbers come from jax",
        "counts": {name: sum(found[part] for part in parts) for name, parts in STABLEHLO.items()},
    }


def tosa_tests() -> dict[str, object]:
    """Count the tests that TOSA's conformance generator lists. Their names start with the operator."""
    names = sorted(name for parts in TOSA.values() for name in parts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        options = ["--profile", "all", "--extension", "all", "--tosa-version", TOSA_VERSION, "--operators", *names]
        command = ["tosa_verif_conformance_generator", "--list-tests-to-file", str(path), *options]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603 - its own command
        listed = path.read_text("utf-8").split()
    return {
        "name": "TOSA conformance tests",
        "what": f"names that `tosa_verif_conformance_generator` of tosa-tools {version('tosa-tools')} lists for TOSA "
        f"{TOSA_VERSION} with all profiles and extensions, including calls that must be rejected; channels last, "
        "2-D except for conv3d",
        "counts": {
            name: sum(test.startswith(tuple(f"{part}_" for part in parts)) for test in listed)
            for name, parts in TOSA.items()
        },
    }


PARTS = {"onnx": onnx_nodes, "opinfo": opinfo_samples, "stablehlo": stablehlo_harnesses, "tosa": tosa_tests}


def main() -> None:
    """Count the requested parts and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in PARTS:
        parser.add_argument(f"--{name}", action="store_true")
    arguments = parser.parse_args()
    old = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    parts = {
        name: count() if getattr(arguments, name) else old.get("parts", {}).get(name) for name, count in PARTS.items()
    }
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    counts = {"counted": today, "parts": {**parts, "by_hand": BY_HAND}}
    FILE.write_text(json.dumps(counts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
