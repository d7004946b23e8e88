"""Reader of JAX models. It runs without the suite, see conformance.adapters.api.model_reader.

Every model becomes a module of StableHLO, the language in which JAX exports and compiles functions. The functions of a
user are traced with shapes and not run. The operations of the module are listed, with the bodies of the functions that
it calls.
"""

import os

import jax
from extraction import first_line
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .operations import read_module
from .tracing import traceable

MAX_FILE_BYTES = 2 << 30
MAX_CELLS = 1 << 20
"""Maximum number of cells of a constant that is read for its values."""
BYTECODE = b"ML\xefR"
"""The first bytes of a module in the binary format of MLIR."""


def read_model(path, model):
    """Add the operations of a file: a module of StableHLO as text or in binary, or a file of jax.export."""
    size = os.path.getsize(path)
    if size > MAX_FILE_BYTES:
        raise model.error(f"it has {size} bytes, the limit is {MAX_FILE_BYTES}")
    if model.inputs:
        raise model.error("--input: the shapes of this file are fixed when it is exported")
    with open(path, "rb") as file:
        content = file.read()
    if not content:
        raise model.error("not a file of StableHLO or of jax.export: it is empty")
    with jax_mlir.make_ir_context() as context:
        if content.startswith(BYTECODE):
            module = parsed(lambda: stablehlo.deserialize_portable_artifact(context, content), "StableHLO", model)
        elif is_text(content):
            module = parsed(lambda: ir.Module.parse(content), "StableHLO", model)
        else:
            exported = parsed(lambda: jax.export.deserialize(bytearray(content)), "StableHLO or of jax.export", model)
            module = parsed(lambda: ir.Module.parse(exported.mlir_module()), "StableHLO", model)
        read_module(module, model)


def is_text(content):
    """Whether a file is text: that of MLIR has no zeros."""
    return b"\0" not in content[:4096]


def parsed(parse, kind, model):
    """Return the result of a parser."""
    try:
        return parse()
    except (MemoryError, RecursionError):
        raise
    except ImportError as error:
        raise model.error(first_line(error)) from None
    except Exception as error:
        # The message of MLIR has a line "error:" first, and the place and the reason after it.
        lines = [line.strip() for line in str(error).splitlines()[:3]]
        raise model.error(f"not a file of {kind}: {' '.join(lines)[:200] or type(error).__name__}") from None


def read_object(value, model):
    """Trace a function or a Flax module, and list the operations of its module of StableHLO."""
    try:
        function, arguments = traceable(value, model)
        lowered = jax.jit(function).lower(*arguments)
    except (model.error, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise model.error(f"it cannot be traced: {type(error).__name__}: {first_line(error)}") from None
    read_module(lowered.compiler_ir("stablehlo"), model)
