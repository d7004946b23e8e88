"""IREE: source text that compiles a module of MLIR for the CPU and loads it. The routes from JAX use it too."""

from __future__ import annotations

from conformance.adapters.api import INDENT

# The instructions of any processor of the architecture. By default, IREE computes float64 in float32.
COMPILER_FLAGS = '["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]'
IMPORTS = """\
import iree.compiler.version
import iree.runtime.version
"""
# The packages have no attribute __version__, which the results record.
VERSIONS = """\
iree.compiler.__version__ = iree.compiler.version.VERSION
iree.runtime.__version__ = iree.runtime.version.VERSION
"""


def load_lines(module: str, input_type: str) -> tuple[str, ...]:
    """Return lines that compile a module and assign the loaded one to `module`.

    module: the expression of its text. input_type: its dialect, as the compiler names it.
    """
    return (
        "binary = iree.compiler.compile_str(",
        f'{INDENT}{module}, target_backends=["llvm-cpu"], input_type="{input_type}",',
        f"{INDENT}extra_args={COMPILER_FLAGS},",
        ")",
        'module = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")',
    )
