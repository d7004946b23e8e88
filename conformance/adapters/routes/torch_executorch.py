"""Routes from PyTorch through `torch.export` to ExecuTorch: its portable kernels, and XNNPACK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from conformance.adapters import torch
from conformance.adapters.api import COMPLETE_LEVELS, Sizes, Surface
from conformance.adapters.routes import xnnpack
from conformance.adapters.routes.batch_lines import TORCH_MODULE
from conformance.adapters.routes.route import FIXED, BatchExport, ModelRunner, make_route, module_lines
from reports.results.vocabulary import ROUTE_ARROW, Level

PACKAGES = ("executorch", "torch", "numpy")
INSTRUCTION_VARIABLES = torch.INSTRUCTION_VARIABLES
THREAD_SETTINGS = torch.THREAD_SETTINGS
THREADS = f"""{torch.THREADS}
import functools

import tqdm

# The thread that redraws a progress bar would end the process after each export.
tqdm.tqdm.monitor_interval = 0
# Each export lists all operators of PyTorch three times, which takes a third of its time.
try:
    from torch._export import utils

    utils._collect_all_valid_cia_ops_for_namespace = functools.cache(utils._collect_all_valid_cia_ops_for_namespace)
except (ImportError, AttributeError):  # not this version; exports take longer
    pass
"""
SETUP = f"""{torch.SETUP}
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

runtime = Runtime.get()
"""
RESET = torch.RESET
# The argument that selects the operators of a backend. The portable kernels run the others.
PARTITIONERS: Mapping[str, str] = {
    "executorch": "",
    "executorch.xnnpack": ", partitioner=[XnnpackPartitioner()]",
}


def _export(
    partitioner: str, lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], _sizes: Sizes = FIXED
) -> Sequence[str]:
    """Return lines that assign `edge`, the graph of the operators, and `buffer`, the model. Weights are buffers."""
    return [*module_lines(lines, weights, inputs), *_export_lines(partitioner, f"({', '.join(inputs)},)")]


def _export_lines(partitioner: str, inputs: str) -> Sequence[str]:
    return (
        f"exported = torch.export.export(model, {inputs})",
        f"edge = to_edge_transform_and_lower(exported{partitioner})",
        "buffer = edge.to_executorch().buffer",
    )


def _batch(partitioner: str) -> BatchExport:
    return BatchExport(module_lines, (*TORCH_MODULE, *_export_lines(partitioner, "tuple(tensors)")))


RUNNER = ModelRunner(
    ('method = runtime.load_program(buffer).load_method("forward")',),
    lambda inputs: (f"x = method.execute([{', '.join(inputs)}])[0].numpy()",),
    ("results = [x.numpy() for x in method.execute(tensors)]",),
)
# The operators of ExecuTorch's graph, computed by PyTorch, which shares no kernels with ExecuTorch.
EVALUATOR = ModelRunner(
    (), lambda inputs: (f"x = exported.run_decompositions().module()({', '.join(inputs)}).numpy()",)
)
# XNNPACK replaces operators of int8 and the calls of a quantizer around them. The portable kernels have no such
# calls: "Missing out variants: {'quantized_decomposed::dequantize_per_tensor', …}".
SOURCES: Mapping[str, Surface] = {
    "executorch": torch.FUNCTIONAL_SURFACE,
    "executorch.xnnpack": replace(
        torch.FUNCTIONAL_SURFACE,
        lowerings={
            **torch.FUNCTIONAL_SURFACE.lowerings,
            "quantized_conv": torch.DECOMPOSED_LOWERINGS["quantized_conv"],
            "quantized_avg_pool": xnnpack.avg_pool,
            "max_pool": xnnpack.max_pool,
        },
        dtypes={
            **torch.FUNCTIONAL_SURFACE.dtypes,
            **dict.fromkeys(("quantized_conv", "quantized_avg_pool"), frozenset({xnnpack.DTYPE})),
        },
    ),
}
SURFACES = tuple(
    make_route(
        SOURCES[runtime],
        f"torch.export{ROUTE_ARROW}{runtime}",
        runtime,
        partial(_export, partitioner),
        RUNNER,
        to_numpy="x",
        evaluate=EVALUATOR,
        batch=_batch(partitioner),
        # NumPy has no bfloat16.
        without_dtypes={"bfloat16"},
        exported={"quantized_conv"},
        bfloat16=None,
        # There is no complete run of level standard with XNNPACK, see docs/how-to/choose-a-route.md.
        max_level=Level.SMOKE if partitioner else Level.EXHAUSTIVE,
        operator_levels=COMPLETE_LEVELS if partitioner else {},
    )
    for runtime, partitioner in PARTITIONERS.items()
)
