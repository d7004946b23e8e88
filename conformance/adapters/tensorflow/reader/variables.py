"""The variables of a SavedModel, from its checkpoint."""

import os

import tensorflow as tf

from .flattening import MAX_DEPTH, Flattener, input_node
from .saved_model import VARIABLES

PASSING = frozenset({"Identity", "ReadVariableOp", "Cast", "Reshape", "ExpandDims", "Squeeze", "Enter"})
"""Operators whose output has the values of the first input, for constants and weights."""


class Weights:
    """The variables of a SavedModel, read from its checkpoint one by one.

    keys: the names of their arrays in the checkpoint, by the name of the node of the variable.
    """

    def __init__(self, folder, keys):
        prefix = os.path.join(folder, VARIABLES)
        self.keys, self.reader, self.shapes = keys, None, {}
        if not os.path.isfile(f"{prefix}.index"):
            return
        try:
            self.reader = tf.train.load_checkpoint(prefix)
            self.shapes = self.reader.get_variable_to_shape_map()
        except Exception:  # a damaged checkpoint: the weights are unknown
            self.reader = None

    def variable(self, name, shape):
        """Return the values of a variable, None without any of its shape."""
        key = self.keys.get(name, name)
        if self.reader is None or key not in self.shapes or list(self.shapes[key]) != list(shape):
            return None
        try:
            return self.reader.get_tensor(key)
        except Exception:  # a damaged checkpoint
            return None


def checkpoint_keys(graph_def, output, library, model):
    """Return the name in the checkpoint of each variable, from the nodes that would save the model."""
    try:
        nodes = {one.name: one for one in Flattener(library, model).flatten(graph_def, [output]).node}
        names = [tf.make_ndarray(nodes[input_node(one.input[1])].attr["value"].tensor) for one in saving(nodes)]
    except (model.error, KeyError, ValueError):
        return {}
    found = {}
    for save, keys in zip(saving(nodes), names):
        for text, key in zip(save.input[3:], keys.reshape(-1)):
            node = nodes.get(input_node(text))
            for _ in range(MAX_DEPTH):
                if node is None or node.op not in PASSING or not node.input:
                    break
                node = nodes.get(input_node(node.input[0]))
            if node is not None:
                found[node.name] = bytes(key).decode("utf-8", "replace")
    return found


def saving(nodes):
    """Return the nodes that save arrays."""
    return [one for one in nodes.values() if one.op == "SaveV2" and len(one.input) > 2]
