"""Route from PyTorch through `torch.export` to AOTInductor, which compiles a model to a shared library with C++.

One library is compiled for each case.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.adapters import torch
from conformance.adapters.api import Sizes
from conformance.adapters.routes.route import FIXED, ModelRunner, make_route, module_lines
from conformance.adapters.torch.compiled import missing_compiler
from reports.results.vocabulary import ROUTE_ARROW, Level

PACKAGES = ("torch", "numpy")
INSTRUCTION_VARIABLES = torch.INSTRUCTION_VARIABLES
THREAD_SETTINGS = torch.THREAD_SETTINGS
THREADS = torch.THREADS
SETUP = f"""{torch.SETUP}
import io
"""
RESET = torch.RESET


def _export(
    lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str], _sizes: Sizes = FIXED
) -> Sequence[str]:
    """Return lines that assign `exported`, the graph, and `package`, a file with the library. Weights are buffers."""
    return [
        *module_lines(lines, weights, inputs),
        f"exported = torch.export.export(model, ({', '.join(inputs)},))",
        "package = io.BytesIO()",
        "torch._inductor.aoti_compile_and_package(exported, package_path=package)",
    ]


def _call(function: str, inputs: Sequence[str]) -> str:
    return f"x = {function}({', '.join(inputs)}).numpy()"


RUNNER = ModelRunner(
    ("compiled = torch._inductor.aoti_load_package(package)",), lambda inputs: (_call("compiled", inputs),)
)
# The exported graph, run by PyTorch. Compiled libraries call its kernels for convolutions and other operators.
EVALUATOR = ModelRunner((), lambda inputs: (_call("exported.module()", inputs),))
SURFACES = (
    make_route(
        torch.FUNCTIONAL_SURFACE,
        f"torch.export{ROUTE_ARROW}aotinductor",
        "torch.compile",
        _export,
        RUNNER,
        to_numpy="x",
        evaluate=EVALUATOR,
        is_independent=False,
        # NumPy has no bfloat16.
        without_dtypes={"bfloat16"},
        bfloat16=None,
        max_level=Level.SMOKE,
        slow_tag="compiled",
        missing_requirement=missing_compiler,
    ),
)
