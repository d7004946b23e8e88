"""Functions of JAX and Flax modules, as a function that can be traced with the shapes of its arguments."""

import inspect

import jax

EVALUATION = {"train": False, "training": False, "is_training": False, "deterministic": True,
              "use_running_average": True}  # fmt: skip
"""Arguments that put a module into evaluation mode."""


def traceable(value, model):
    """Return a function and the shapes of its arguments."""
    if isinstance(value, tuple):
        if len(value) < 2 or not callable(value[0]):
            raise model.error("it returned a tuple that is not (function, shapes of the arguments)")
        if model.inputs:
            raise model.error("--input: the function that it returned has shapes of its own")
        given = value[1] if len(value) == 2 and is_arguments(value[1]) else value[1:]
        return value[0], [struct(one) for one in given]
    if not model.inputs:
        raise model.error("needs --input with the shape of its input, such as 1x224x224x3")
    inputs = [jax.ShapeDtypeStruct(shape, "float32") for shape in model.inputs.values()]
    model.surface = f"flax.{'nnx' if '.nnx' in str(type(value).__mro__) else 'linen'}"
    return flax_function(value, inputs)


def is_arguments(value):
    """Whether a value is a tuple of arguments, and not one shape."""
    return isinstance(value, (tuple, list)) and not all(isinstance(one, int) for one in value)


def struct(value):
    """Return the shape and dtype of an argument: a shape is an array of float32."""
    if isinstance(value, (tuple, list)) and all(isinstance(one, int) for one in value):
        return jax.ShapeDtypeStruct(tuple(value), "float32")
    return value


def flax_function(module, inputs):
    """Return a function that calls a Flax module in evaluation mode, and the shapes of its weights and inputs."""
    if hasattr(module, "apply") and hasattr(module, "init"):
        # The method __call__ may be inherited, and `self` is its first argument.
        options = evaluation_options(type(module).__call__)
        init = jax.eval_shape(lambda key, *arrays: module.init(key, *arrays, **options), jax.random.key(0), *inputs)
        return lambda variables, *arrays: module.apply(variables, *arrays, **options), [init, *inputs]
    from flax import nnx  # noqa: PLC0415 - a function of JAX does not need Flax

    module.eval()
    options = evaluation_options(type(module).__call__)
    graph, state = nnx.split(module)
    return lambda state, *arrays: nnx.merge(graph, state)(*arrays, **options), [state, *inputs]


def evaluation_options(function):
    """Return the arguments of a function that put the module into evaluation mode."""
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {name: value for name, value in EVALUATION.items() if name in names}
