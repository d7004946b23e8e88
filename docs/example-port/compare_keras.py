"""Load the saved weights in Keras and compare the outputs: `compare_keras.py FILE`."""

import sys

import numpy as np
from resnet18_keras import resnet18

from conformance.translation.weights import convert

saved = dict(np.load(sys.argv[1]))
x, expected = saved.pop("x"), saved.pop("y")
state = {name.removeprefix("weights/"): array for name, array in saved.items()}
x = np.moveaxis(x, 1, -1)
model = resnet18(x.shape[1:])
for name, arrays in convert(state, "torch", "keras").items():
    model.get_layer(name).set_weights(arrays)
y = model.predict(x, verbose=0)
print(f"largest difference {np.abs(y - expected).max():.1e}, largest output {np.abs(expected).max():.3f}")
