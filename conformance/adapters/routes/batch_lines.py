"""Lines that make one model of several models, each with its own inputs. See RouteBatch for `models` and `inputs`."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters.api import INDENT

TENSORS = (
    "counts = [len(one) for one in inputs]",
    "tensors = [tensor for one in inputs for tensor in one]",
    'names = [f"x{n}" for n in range(len(tensors))]',
)
"""The number of inputs of each model, all inputs, and the name of each input of the joint model."""
CALLED = "[model(*[next(remaining) for _ in range(count)]) for model, count in zip({}, counts)]"
"""The results of all models. `remaining` are the inputs of the joint model, `{}` the models."""
TORCH_MODULE = (
    *TENSORS,
    "class Models(nn.Module):",
    f"{INDENT}def __init__(self):",
    f"{INDENT}{INDENT}super().__init__()",
    f"{INDENT}{INDENT}self.models = nn.ModuleList(models)",
    f"{INDENT}def forward(self, *tensors):",
    f"{INDENT}{INDENT}remaining = iter(tensors)",
    f"{INDENT}{INDENT}return tuple({CALLED.format('self.models')})",
    "model = Models().eval()",
)
"""A module of PyTorch, `model`."""


def function_of_models(decorator: str = "") -> Sequence[str]:
    """Return lines that define a function `joint` of all inputs. It returns a tuple of the results."""
    return (
        *TENSORS,
        *filter(None, [decorator]),
        "def joint(*tensors):",
        f"{INDENT}remaining = iter(tensors)",
        f"{INDENT}return tuple({CALLED.format('models')})",
    )


def named_arrays(to_numpy: str) -> str:
    """Return the line that assigns `named`. to_numpy: converts an input to NumPy."""
    return f"named = {{name: {to_numpy.format('tensor')} for name, tensor in zip(names, tensors)}}"


TENSOR_SPECS = "specs = [tf.TensorSpec(tensor.shape, tensor.dtype, name) for tensor, name in zip(tensors, names)]"
"""The specifications of the inputs of a function of TensorFlow."""
