"""PyTorch: functional calls inside a function that torch.compile compiles to one graph."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.adapters.api import Sizes, Surface, calls_with_other_sizes, function_lines
from conformance.adapters.torch.convolution import autograd_gradient

# Inductor's own defaults. Checking them before a run gives one message, where each case would fail otherwise.
DEFAULT_COMPILERS: Mapping[str, str] = {"darwin": "clang++", "win32": "cl"}

# Inductor loads each library that is in its cache. A process that is killed while the compiler links leaves a part of
# one, with which later programs that need the library fail.
REMOVE_PARTIAL_LIBRARIES = """
import glob
import os
import struct


def is_complete(library):
    with open(library, "rb") as file:
        head, size = file.read(64), os.fstat(file.fileno()).st_size
    if size and head[:5] != b"\\x7fELF\\x02":
        return True
    # The table of sections is at the end.
    end = struct.unpack_from("<Q", head, 40)[0] + 64 * struct.unpack_from("<H", head, 60)[0] if len(head) == 64 else 0
    return 64 < end <= size


def remove_partial_libraries(cache, complete):
    try:
        import fcntl

        locks = os.listdir(os.path.join(cache, "locks"))
    except (ImportError, OSError):  # Windows, or nothing has been compiled
        return
    for name in set(locks) - complete:
        key = name.split(".")[0]
        for library in glob.glob(os.path.join(cache, key[1:3], glob.escape(key) + "*.so")):
            try:
                with open(os.path.join(cache, "locks", name), "a") as lock:
                    if not is_complete(library):
                        # The process that links a library has its lock.
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        if not is_complete(library):
                            os.remove(library)
                            continue
                complete.add(name)
            except OSError:
                pass


# Before the first program, which may be the second attempt of one that was killed, and after each compilation.
if "complete_libraries" not in globals() or "torch._dynamo" in sys.modules:
    complete_libraries = globals().get("complete_libraries", set())
    remove_partial_libraries(os.environ["TORCHINDUCTOR_CACHE_DIR"], complete_libraries)
"""


def missing_compiler() -> str | None:
    """Return a message if Inductor's C++ compiler is missing."""
    compiler = os.environ.get("CXX") or DEFAULT_COMPILERS.get(sys.platform, "g++")
    if shutil.which(compiler):
        return None
    return f"torch.compile needs a C++ compiler, but {compiler} was not found (set the variable CXX to use another)"


def compile_lines(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return the lines inside a compiled function, and its call."""
    # A kernel that the program contains has several lines, and each must be indented.
    single_lines = [line for text in lines for line in text.split("\n")]
    # With fullgraph=True, code that cannot be part of the graph is an error instead of a silent eager call.
    return function_lines("@torch.compile(fullgraph=True)", "forward", single_lines, names)


def dynamic_surface(surface: Surface, sizes: Sizes) -> Surface:
    """Return the surface with functions that are compiled for inputs of any size, and called with other sizes first."""

    def compile_for_sizes(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        *definition, call = compile_lines(lines, names)
        arrays = "torch.ones({shape}, dtype={name}.dtype, requires_grad={name}.requires_grad)"
        used = {name: one for name, one in sizes.items() if name in names}
        decorator = "@torch.compile(fullgraph=True, dynamic=True)"
        return (decorator, *definition[1:], *calls_with_other_sizes(used, names, "forward({})", arrays), call)

    def gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
        return autograd_gradient(compile_for_sizes(lines, names), names, input_name)

    return replace(surface, wrap_program=compile_for_sizes, write_gradient=gradient)


def double_backward_lines(function: str) -> Sequence[str]:
    """Return lines that differentiate the gradient of a function of x with respect to the incoming gradient."""
    return (
        "leaf = x.detach().requires_grad_()",
        f"y = ({function})(leaf)",
        "grad = torch.zeros_like(y, requires_grad=True)",
        "(gradient,) = torch.autograd.grad(y, leaf, grad, create_graph=True)",
        "(x,) = torch.autograd.grad(gradient, grad, x)",
    )


def compiled_gradient(lines: Sequence[str], names: Sequence[str], input_name: str) -> Sequence[str]:
    """Return the compiled lines followed by the gradient of one input, which AOTAutograd compiles."""
    return autograd_gradient(compile_lines(lines, names), names, input_name)
