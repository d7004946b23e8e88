"""The calls with windows of a program of torch.export, and of a module.

The module that a function returns is called once, in evaluation mode, without gradients. Every call of a function with
a window is recorded, whether a layer or the forward method makes it. In an exported program, the calls are the nodes of
its graph, which is not run.
"""

import os
import warnings

import torch
from extraction import first_line
from torch import nn

from .calls import record
from .others import FUNCTIONS, function_settings
from .recorder import Recorder

MAX_INPUT_CELLS = 1 << 28


def read_program(path, model):
    """Add the nodes of a program of torch.export. Its weights are loaded, its graph is not run."""
    # With weights_only, no object of another class is created from a pickle in the archive.
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    try:
        program = torch.export.load(path)
    except Exception as error:
        raise model.error(f"not a program of torch.export: {first_line(error)}") from None
    arrays = {**program.state_dict, **program.constants}
    names = {**program.graph_signature.inputs_to_parameters, **program.graph_signature.inputs_to_buffers}
    parameters = {
        node.name: arrays.get(names.get(node.name)) for node in program.graph.nodes if node.op == "placeholder"
    }
    for node in program.graph.nodes:
        if node.op == "call_function":
            function = str(getattr(node.target, "_opname", getattr(node.target, "__name__", node.target)))
            record(model, module_name(node), function, node.args, node.kwargs, lambda one: fake(one, parameters))
            if function in FUNCTIONS:
                model.add_other(function, **function_settings(function, node.args, node.kwargs))


def module_name(node):
    """Return the path of the module that made a node, or the name of the node."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0] if stack and stack[-1][0] else node.name


def fake(value, parameters):
    """Return the tensor of a node: a weight of the program, or one without data that has the shape."""
    if isinstance(value, torch.fx.Node):
        weight = parameters.get(value.name)
        return value.meta.get("val") if weight is None else weight
    return value


def read_module(module, model):
    """Call a module with zeros, and record the calls."""
    if not isinstance(module, nn.Module):
        raise model.error(f"it returned {type(module).__name__}, not an nn.Module")
    if not model.inputs:
        raise model.error("needs --input with the shape of its input, such as 1x3x224x224")
    module.eval()
    recorder = Recorder(module, model)
    inputs = [example(shape, module, model) for shape in model.inputs.values()]
    named = all(name.isidentifier() for name in model.inputs)
    arguments = {} if not named else dict(zip(model.inputs, inputs))
    try:
        with torch.no_grad(), warnings.catch_warnings(), recorder:
            warnings.simplefilter("ignore")
            module(**arguments) if named else module(*inputs)
    except Exception as error:
        raise model.error(f"its call failed: {type(error).__name__}: {first_line(error)}") from None


def example(shape, module, model):
    """Return an input of zeros in the dtype of the module."""
    cells = 1
    for extent in shape:
        cells *= extent
    if cells > MAX_INPUT_CELLS:
        raise model.error(f"--input: {list(shape)} has more than {MAX_INPUT_CELLS} cells")
    dtypes = [one.dtype for one in module.parameters() if one.is_floating_point()]
    return torch.zeros(shape, dtype=dtypes[0] if dtypes else torch.float32)
