"""Measure the weights of calls that resize images, and group the calls that have the same weights.

Resizing is linear in the cells of the input, and computes one axis after the other. So the weights of one axis define a
call: the result for the unit matrix, resized along the columns only.

    python benchmarks/preprocessing.py measure pillow opencv skimage scipy    in an environment with the libraries
    python benchmarks/preprocessing.py tables                                 the groups, in Markdown
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "match-preprocessing.md"
SIZES = {
    "up": ((4, 8), (5, 7), (3, 10)),
    "down": ((8, 4), (7, 5), (9, 4)),
    "at ties": ((4, 6), (6, 9), (8, 10), (12, 9)),
}
"""Columns of the input and of the output. At ties, an output cell has its centre on the border of two input cells."""
TOLERANCE = 2.0**-16
NAMES = {
    "pillow": "Pillow",
    "opencv": "OpenCV",
    "skimage": "scikit-image",
    "scipy": "SciPy",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
}
PACKAGES = {
    "pillow": "pillow",
    "opencv": "opencv-python-headless",
    "skimage": "scikit-image",
    "scipy": "scipy",
    "torch": "torch",
    "tensorflow": "tensorflow-cpu",
    "jax": "jax",
    "onnxruntime": "onnxruntime",
}
ONNX_SETUP = """
import onnxruntime
from onnx import TensorProto, helper
def Resize(x, height, width, **attributes):
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4)
    sizes = helper.make_tensor("sizes", TensorProto.INT64, [4], [1, 1, height, width])
    graph = helper.make_graph([node], "g", [value("x")], [value("y")], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
x = array[None, None]
"""
SETUPS = {
    "pillow": "from PIL import Image\nx = Image.fromarray(array)",
    "opencv": "import cv2\nx = array",
    "skimage": "from skimage.transform import resize\nx = array",
    "scipy": "from scipy import ndimage\nx = array\nfactors = (1, width / array.shape[1])",
    "torch": "import torch\nimport torch.nn.functional as F\nx = torch.from_numpy(array)[None, None]",
    "tensorflow": "import tensorflow as tf\nx = array[None, :, :, None]",
    "jax": "import jax\nx = array",
    "onnxruntime": ONNX_SETUP,
}
_PILLOW = "x.resize((width, height), Image.Resampling.{})"
_EXTENT = "x.transform((width, height), Image.Transform.EXTENT, (0, 0, *x.size), Image.Resampling.{})"
_OPENCV = "cv2.resize(x, (width, height), interpolation=cv2.{})"
_SKIMAGE = 'resize(x, (height, width), order={}, mode="edge", anti_aliasing={}, preserve_range=True, clip=False)'
_TORCH = 'F.interpolate(x, (height, width), mode="{}"{})'
_TENSORFLOW = 'tf.image.resize(x, (height, width), "{}"{})'
_JAX = 'jax.image.resize(x, (height, width), "{}"{})'
_ONNX = 'Resize(x, height, width, mode="{}"{})'
_GRID = 'ndimage.zoom(x, factors, order={}, mode="nearest", grid_mode=True)'
ANTIALIAS, NO_ANTIALIAS = ", antialias=True", ", antialias=False"
CALLS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "nearest": {
        "pillow": (_PILLOW.format("NEAREST"),),
        "opencv": (_OPENCV.format("INTER_NEAREST"), _OPENCV.format("INTER_NEAREST_EXACT")),
        "skimage": (_SKIMAGE.format(0, False),),
        "scipy": ("ndimage.zoom(x, factors, order=0)", _GRID.format(0)),
        "torch": (_TORCH.format("nearest", ""), _TORCH.format("nearest-exact", "")),
        "tensorflow": (_TENSORFLOW.format("nearest", ""),),
        "jax": (_JAX.format("nearest", ""),),
        "onnxruntime": (
            _ONNX.format("nearest", ""),
            _ONNX.format("nearest", ', nearest_mode="round_prefer_ceil"'),
            _ONNX.format("nearest", ', coordinate_transformation_mode="asymmetric", nearest_mode="floor"'),
        ),
    },
    "linear": {
        "pillow": (_PILLOW.format("BILINEAR"), _EXTENT.format("BILINEAR")),
        "opencv": (_OPENCV.format("INTER_LINEAR"), _OPENCV.format("INTER_AREA")),
        "skimage": (_SKIMAGE.format(1, False), _SKIMAGE.format(1, True)),
        "scipy": ("ndimage.zoom(x, factors, order=1)", _GRID.format(1)),
        "torch": tuple(_TORCH.format("bilinear", one) for one in ("", ", align_corners=True", ANTIALIAS)),
        "tensorflow": tuple(_TENSORFLOW.format("bilinear", one) for one in ("", ANTIALIAS)),
        "jax": tuple(_JAX.format("linear", one) for one in (NO_ANTIALIAS, "")),
        "onnxruntime": tuple(
            _ONNX.format("linear", one)
            for one in (
                "",
                ', coordinate_transformation_mode="align_corners"',
                ", antialias=1",
                ", antialias=1, exclude_outside=1",
            )
        ),
    },
    "cubic": {
        "pillow": (_PILLOW.format("BICUBIC"), _EXTENT.format("BICUBIC")),
        "opencv": (_OPENCV.format("INTER_CUBIC"),),
        "skimage": (_SKIMAGE.format(3, False),),
        "scipy": (_GRID.format(3),),
        "torch": tuple(_TORCH.format("bicubic", one) for one in ("", ANTIALIAS)),
        "tensorflow": tuple(_TENSORFLOW.format("bicubic", one) for one in ("", ANTIALIAS)),
        "jax": tuple(_JAX.format(f"cubic{name}", one) for name in ("", "-pytorch") for one in (NO_ANTIALIAS, "")),
        "onnxruntime": tuple(
            _ONNX.format("cubic", one)
            for one in (
                "",
                ", cubic_coeff_a=-0.5, exclude_outside=1",
                ", cubic_coeff_a=-0.5, exclude_outside=1, antialias=1",
            )
        ),
    },
}


def weights(library: str, call: str, columns: int, width: int) -> list[list[float]]:
    """Return the weights of each output column: those of the input columns."""
    array = np.eye(columns, dtype=np.float32)
    names: dict[str, Any] = {"array": array, "height": columns, "width": width}
    exec(SETUPS[library], names)  # noqa: S102
    result = np.asarray(eval(call, names), np.float64).reshape(columns, width)  # noqa: S307
    return [[float(f"{one:.7g}") for one in column] for column in result.T]


def measure(libraries: Iterable[str]) -> None:
    """Add the weights of the calls of some libraries to the data."""
    data = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    for library in libraries:
        found = {
            mode: {
                call: {f"{n}-{m}": weights(library, call, n, m) for sizes in SIZES.values() for n, m in sizes}
                for call in calls[library]
            }
            for mode, calls in CALLS.items()
        }
        data[library] = {"version": version(PACKAGES[library]), "weights": found}
    DATA.write_text(json.dumps(dict(sorted(data.items())), sort_keys=True) + "\n", "utf-8")


def groups(data: Mapping[str, Any], mode: str, direction: str) -> list[list[tuple[str, str]]]:
    """Return the groups of calls whose weights differ by at most the tolerance from those of the first call."""
    found: list[tuple[np.ndarray, list[tuple[str, str]]]] = []
    for library in CALLS[mode]:
        for call in CALLS[mode][library]:
            of_sizes = data[library]["weights"][mode][call]
            own = np.concatenate([np.ravel(of_sizes[f"{n}-{m}"]) for n, m in SIZES[direction]])
            same = next((calls for first, calls in found if np.abs(first - own).max() <= TOLERANCE), None)
            if same is None:
                found.append((own, [(library, call)]))
            else:
                same.append((library, call))
    return [calls for _, calls in found]


def table(data: Mapping[str, Any], mode: str, direction: str) -> str:
    """Return a table with a group in each row, the largest first."""
    ordered = sorted(groups(data, mode, direction), key=len, reverse=True)
    texts = ("<br>".join(f"{NAMES[library]}: `{call}`" for library, call in calls) for calls in ordered)
    sizes = ", ".join(f"{n} to {m}" for n, m in SIZES[direction])
    rows = [f"| {number} | {text} |" for number, text in enumerate(texts, 1)]
    return "\n".join([f"| group | {mode}, {direction}: {sizes} columns |", "|---|---|", *rows])


def tables(data: Mapping[str, Any]) -> list[str]:
    """Return all tables of the page."""
    return [table(data, mode, way) for mode in CALLS for way in SIZES if mode == "nearest" or way != "at ties"]


def main(arguments: list[str]) -> None:
    """Run one command of the module docstring."""
    if arguments[:1] == ["measure"]:
        measure(arguments[1:])
    else:
        print("\n\n".join(tables(json.loads(DATA.read_text("utf-8")))))


if __name__ == "__main__":
    main(sys.argv[1:])
