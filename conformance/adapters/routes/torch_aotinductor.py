"""Route from PyTorch through `torch.export` to AOTInductor: a library that a C++ compiler builds of the whole model."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters import torch
from conformance.adapters.api import COMPLETE_LEVELS, Sizes
from conformance.adapters.routes.batch_lines import TORCH_MODULE
from conformance.adapters.routes.route import FIXED, BatchExport, ModelRunner, make_route, module_lines
from conformance.adapters.routes.torch_onnx import ONES, axes_argument, example_lines
from conformance.adapters.torch import compiled
from reports.results.vocabulary import ROUTE_ARROW, Level

PACKAGES = torch.PACKAGES
INSTRUCTION_VARIABLES = torch.INSTRUCTION_VARIABLES
THREAD_SETTINGS = torch.THREAD_SETTINGS
THREADS = torch.THREADS
SETUP = f"""{torch.SETUP}
import io

# The first library takes the compiler about half a minute: it also compiles the headers of all later ones.
first_model = torch.export.export(torch.nn.ReLU(), (torch.ones(1),))
torch._inductor.aoti_compile_and_package(first_model, package_path=io.BytesIO())
"""
RESET = torch.RESET


def _export_lines(inputs: str, axes: str = "") -> Sequence[str]:
    return (
        f"exported = torch.export.export(model, {inputs}{axes})",
        "file = io.BytesIO()",
        "torch._inductor.aoti_compile_and_package(exported, package_path=file)",
        "file.seek(0)",
    )


def _export(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], sizes: Sizes = FIXED) -> Sequence[str]:
    """Return lines that assign `exported`, the graph, and `file`, the compiled model. Weights are buffers."""
    arrays = "examples" if sizes else f"({', '.join(inputs)},)"
    return [
        *module_lines(lines, weights, inputs),
        *example_lines(inputs, sizes),
        *_export_lines(arrays, axes_argument("torch.onnx", inputs, sizes)),
    ]


RUNNER = ModelRunner(
    ("compiled = torch._inductor.aoti_load_package(file)",),
    lambda inputs: (f"x = compiled({', '.join(inputs)})",),
    ("results = [*compiled(*tensors)]",),
)
# The kernels of PyTorch, which the library calls for the operators that Inductor does not write itself.
EVALUATOR = ModelRunner((), lambda inputs: (f"x = exported.module()({', '.join(inputs)})",))
SURFACES = tuple(
    make_route(
        torch.FUNCTIONAL_SURFACE,
        f"torch.export{'.dynamic' if ones else ''}{ROUTE_ARROW}aotinductor",
        "torch.compile",
        _export,
        RUNNER,
        to_numpy=torch.FUNCTIONAL_SURFACE.to_numpy,
        # One expression converts all results of a batch, and bfloat16 has another one.
        without_dtypes={"bfloat16"},
        bfloat16=None,
        evaluate=EVALUATOR,
        is_independent=False,
        ones=ones,
        batch=BatchExport(module_lines, (*TORCH_MODULE, *_export_lines("tuple(tensors)"))),
        missing_requirement=compiled.missing_compiler,
        # The compiler takes 5 s for a program alone, and 0.4 s for each of 40 programs in one library.
        # There is no complete run of level standard, see docs/how-to/choose-a-route.md.
        max_level=Level.SMOKE,
        operator_levels={} if ones else COMPLETE_LEVELS,
    )
    for ones in ("", ONES)
)
