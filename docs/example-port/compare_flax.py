"""Load the saved weights in Flax and compare the outputs: `compare_flax.py FILE`."""

import sys

import numpy as np
from resnet18_flax import ResNet18

from conformance.translation.weights import convert

saved = dict(np.load(sys.argv[1]))
x, expected = saved.pop("x"), saved.pop("y")
state = {name.removeprefix("weights/"): array for name, array in saved.items()}
variables = convert(state, "torch", "flax", rename=lambda name: name.replace("downsample.", "downsample_"))
y = np.asarray(ResNet18().apply(variables, np.moveaxis(x, 1, -1)))
print(f"largest difference {np.abs(y - expected).max():.1e}, largest output {np.abs(expected).max():.3f}")
