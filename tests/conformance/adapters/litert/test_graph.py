"""The module `graph` of LiteRT. The class `Graph` itself needs LiteRT; the programs of every run use it."""

import ast

from conformance.adapters.litert.graph import GRAPH_SOURCE, graph_lines


def test_data_are_inputs_of_the_graph_and_weights_stay_arrays():
    assert graph_lines(["x = call"], ["x", "kernel", "bias"]) == (
        "graph = Graph()",
        "x = graph.input(x)",
        "x = call",
        "x = graph.invoke(x)",
    )


def test_no_method_has_the_name_of_the_function_that_programs_define():
    (graph,) = ast.parse(GRAPH_SOURCE).body
    assert "run" not in [node.name for node in graph.body if isinstance(node, ast.FunctionDef)]
