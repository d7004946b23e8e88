"""Adapter for image libraries: Pillow, OpenCV, scikit-image and SciPy. They prepare images for networks by resizing.

Differences from direct calls:

- Pillow takes one plane, OpenCV and scikit-image take one image with channels last: a program calls them in a loop.
- Linear interpolation by Pillow without antialiasing is `Image.transform`, because `Image.resize` antialiases.
- Only resizing is written. There are no gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.adapters.api import ALL_DTYPES, FLOATING, Lowering, Surface, Unsupported, unsupported_operators
from conformance.adapters.images import resizing
from conformance.cases.operators import FORWARD_OPERATORS

PACKAGES = ("PIL", "cv2", "skimage", "scipy", "numpy")
DISTRIBUTIONS = {"PIL": "pillow", "cv2": "opencv-python-headless", "skimage": "scikit-image"}
THREADS = ""
THREAD_SETTINGS = {"cv2.setNumThreads(1)": "cv2.setNumThreads({})"}
SETUP = """\
import cv2
import numpy as np
from PIL import Image
from scipy import ndimage
from skimage.transform import resize

cv2.setNumThreads(1)
"""
RESET = ""
NOT_WRITTEN = unsupported_operators(
    {name: "for image libraries, only resizing is written" for name in FORWARD_OPERATORS if name != "resize"}
)
NO_BFLOAT16 = Unsupported("NumPy arrays have no bfloat16")
PILLOW_REASONS: Mapping[str, Unsupported] = {
    "float64": Unsupported("Image.fromarray converts float64 to float32"),
    **dict.fromkeys(("int8", "int16", "uint32"), Unsupported("Image.fromarray converts the dtype to int32")),
    **dict.fromkeys(("int64", "uint64", "float16"), Unsupported("Image.fromarray rejects the dtype")),
}
NO_LONG_INTEGERS = Unsupported("OpenCV converts integers of 64 bits to int32")
SCIPY_REASONS = {"float16": Unsupported("ndimage.zoom rejects float16")}
SKIMAGE_REASONS = {"float16": Unsupported("skimage.transform.resize returns float32 for float16")}


def _surface(name: str, lowering: Lowering, reasons: Mapping[str, Unsupported], *, channels_last: bool) -> Surface:
    reasons = {"bfloat16": NO_BFLOAT16, **reasons}
    layout: dict[str, Any] = {"to_framework": {"x": "np.moveaxis({}, 1, -1)"}, "to_numpy": "np.moveaxis(x, -1, 1)"}
    return Surface(
        f"images.{name}",
        {"resize": lambda step: reasons.get(step.dtype) or lowering(step), **NOT_WRITTEN},
        dtypes={"": FLOATING - set(reasons), "resize": ALL_DTYPES - set(reasons)},
        unsupported_dtypes={"": reasons},
        channels_last=channels_last,
        allows_compositions=False,
        **(layout if channels_last else {}),
    )


SURFACES = (
    _surface("pillow", resizing.pillow_resize, PILLOW_REASONS, channels_last=False),
    _surface(
        "opencv", resizing.opencv_resize, dict.fromkeys(("int64", "uint64"), NO_LONG_INTEGERS), channels_last=True
    ),
    _surface("skimage", resizing.skimage_resize, SKIMAGE_REASONS, channels_last=True),
    _surface("scipy", resizing.scipy_zoom, SCIPY_REASONS, channels_last=False),
)
