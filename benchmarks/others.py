"""Count the cases that other suites have for the operators of this one, and write them to benchmarks/others.json.

    python benchmarks/others.py --onnx          with onnx installed
    python benchmarks/others.py --opinfo        with torch and expecttest installed

Each replaces its own part of the file and leaves the rest; what is counted by hand stands in BY_HAND below, with where
it was read. `conformance catalogue` prints the file beside the suite's own counts.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections import Counter
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
OPINFO_DTYPE = "float32"

# Operator of the suite -> names of the operator there.
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

WEBNN = "webmachinelearning/webnn-baseline"
BY_HAND = [
    {
        "name": "WebNN baseline",
        "what": f"`it(…)` blocks in `test/` of github.com/{WEBNN}: pool2d_test.js at 0a4bef73, l2pool2d_test.js at "
        "5d9c2f3d, pad_test.js at 72bd656e, conv_transpose2d_test.js at 1dde2344; 2-D, each layout counted. "
        "conv2d_test.js was not counted: it is 101,000 letters long",
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
        "`webnn/conformance_tests/` (seen at dfa296f8), but what holds the cases of pooling was not at hand",
        "counts": {},
    },
    {
        "name": "StableHLO testdata",
        "what": "not counted. `stablehlo/testdata/` of github.com/openxla/stablehlo holds thousands of files, one a "
        "case (5,730 names over its history, all operators), and no listing by operator was at hand",
        "counts": {},
    },
    {
        "name": "TOSA conformance tests",
        "what": "not counted. `tosa_verif_build_tests` of the TOSA reference model makes them from the settings in "
        "`verif/conformance/tosa_main_profile_ops_info.json`; how many there are shows only when it has run",
        "counts": {},
    },
]


def onnx_nodes() -> dict[str, object]:
    """Count onnx's node tests by the operators in their models."""
    import onnx  # noqa: PLC0415 - each part needs its own package only
    from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415

    found: Counter[str] = Counter()
    for case in collect_testcases(None):
        found.update({node.op_type for node in case.model.graph.node})
    return {
        "name": "onnx node tests",
        "what": f"models of onnx {onnx.__version__} (`onnx.backend.test.case.node`) that hold the operator",
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
        "together; they are held against another implementation or another dtype, not against expected numbers",
        "counts": {name: sum(known.get(part, 0) for part in parts) for name, parts in OPINFO.items()},
    }


PARTS = {"onnx": onnx_nodes, "opinfo": opinfo_samples}


def main() -> None:
    """Count what was asked for, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in PARTS:
        parser.add_argument(f"--{name}", action="store_true")
    chosen = parser.parse_args()
    old = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    parts = {
        name: count() if getattr(chosen, name) else old.get("parts", {}).get(name) for name, count in PARTS.items()
    }
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    whole = {"counted": today, "parts": {**parts, "by_hand": BY_HAND}}
    FILE.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
