"""Records the calls with windows in one call of a model."""

import contextlib

import channels_last as last

from .engine import keras
from .functions import PATCHES

SETTINGS = ("epsilon", "momentum", "negative_slope")
SETTINGS_OF = {"ELU": ("alpha",), "UpSampling2D": ("interpolation",)}
"""Further attributes of layers of a class."""
FUNCTIONS = {"gelu": {"approximate": False}, "leaky_relu": {"negative_slope": 0.2}, "elu": {"alpha": 1.0},
             "celu": {"alpha": 1.0}, "hard_sigmoid": {}, "softplus": {}}  # fmt: skip
"""Arguments of activation functions, with the defaults that they have in a layer."""


def activation_of(layer):
    """Return the activation function of a layer and its settings in a list, which is empty for other functions."""
    name = getattr(getattr(layer, "activation", None), "__name__", "")
    return [(name, FUNCTIONS[name])] if name in FUNCTIONS else []


def described(layer):
    """Return the class of a layer without a window, and its settings. An activation has its function only."""
    kind = type(layer).__name__
    names = (*SETTINGS, *SETTINGS_OF.get(kind, ()))
    is_function = kind == "Activation" and activation_of(layer)
    return [] if is_function else [(kind, {name: getattr(layer, name) for name in names if hasattr(layer, name)})]


class Recorder:
    """Calls with windows in one call of a model, and the number of layers without one by their class."""

    def __init__(self, found):
        self.found, self.calls, self.others, self.stack, self.is_inside = found, [], [], [], False

    def first_call(self, inputs):
        """Call the model. On PyTorch, Keras calls it again if the first call fails."""
        self.calls, self.others, self.stack, self.is_inside = [], [], [], False
        return self.found(inputs, training=False)

    @contextlib.contextmanager
    def recording(self):
        """Record the calls of layers and of functions of the engine."""
        call_layer = keras.layers.Layer.__call__
        originals = [(place, name, getattr(place, name)) for place, name in PATCHES if hasattr(place, name)]

        def call(layer, *args, **kwargs):
            before = len(self.calls), len(self.others)
            self.stack.append(layer)
            try:
                return call_layer(layer, *args, **kwargs)
            finally:
                self.stack.pop()
                if before == (len(self.calls), len(self.others)) and not isinstance(layer, keras.layers.InputLayer):
                    self.others += described(layer)
                self.others += activation_of(layer)

        try:
            keras.layers.Layer.__call__ = call
            for place, name, function in originals:
                setattr(place, name, self.recorded(function, *PATCHES[place, name]))
            yield
        finally:
            keras.layers.Layer.__call__ = call_layer
            for place, name, function in originals:
                setattr(place, name, function)

    def recorded(self, function, names, record):
        """Return a function whose calls are recorded, but no calls that it makes itself."""

        def call(*args, **kwargs):
            if self.is_inside:
                return function(*args, **kwargs)
            self.is_inside = True
            try:
                result = function(*args, **kwargs)
            finally:
                self.is_inside = False
            given = {**dict(zip(names, args)), **kwargs}
            layers = [one for one in self.stack if one is not self.found]
            name, kind = "/".join(one.name for one in layers), function.__name__
            source = type(layers[-1]).__name__ if layers else kind
            try:
                record(self, name or kind, source, given, result)
            except last.Problem as problem:
                text = str(problem)
                self.calls.append(lambda model: model.add_problem(name or kind, source, text))
            return result

        return call
