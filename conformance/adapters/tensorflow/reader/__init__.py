"""Reader of SavedModels. It runs without the suite, see conformance.adapters.api.model_reader.

The nodes that the outputs of a signature need are collected. The bodies of functions take the place of their calls.
Those of branches and loops are added once. TensorFlow imports this graph, which infers its shapes. No session is
created and no variable is restored.
"""

import os

import tensorflow as tf
from extraction import first_line
from tensorflow.core.framework import graph_pb2

from .flattening import Flattener
from .graph import functions_with_windows, read_graph
from .saved_model import FILE, chosen_graph, load, set_input_shapes
from .variables import Weights, checkpoint_keys


def read_model(path, model):
    """Add the nodes of a folder or of the file in it."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    content = load(os.path.join(folder, FILE), model)
    meta, signature = chosen_graph(content, model)
    graph_def = meta.graph_def
    library = {one.signature.name: one for one in graph_def.library.function}
    outputs = [one.name for one in signature.outputs.values()]
    graph = tf.Graph()
    try:
        with tf.Graph().as_default():
            # The conversion of a function to a graph finds the functions that it calls in the current graph.
            functions = graph_pb2.GraphDef(library=graph_def.library, versions=graph_def.versions)
            tf.graph_util.import_graph_def(functions, name="")
            flat = Flattener(library, model, functions_with_windows(library)).flatten(graph_def, outputs)
            keys = checkpoint_keys(graph_def, meta.saver_def.save_tensor_name, library, model)
        set_input_shapes(flat, signature, model)
        with graph.as_default():
            tf.graph_util.import_graph_def(flat, name="")
    except (MemoryError, RecursionError, model.error):
        raise
    except Exception as error:
        raise model.error(f"{FILE}: its graph cannot be imported: {first_line(error)}") from None
    read_graph(graph, Weights(folder, keys), library, model)
