"""Compare the defaults in the hints of `conformance translate` with a framework: `layer_defaults.py torch|flax|keras`.

Run it in an environment of the framework. Each default must be that of the constructor or function.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from conformance.adapters import registry  # noqa: E402

MODULES = {
    "torch": ("torch.nn", "torch.nn.functional", "torch"),
    "flax": ("flax.linen", "flax.nnx", "jax"),
    "keras": ("keras.layers", "keras.activations", "keras"),
}


def _attribute(module: Any, name: str) -> Any:
    """Return the attribute of a module, whose name may have the module in it: `ops.gelu`. None without one."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def found_defaults(framework: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield a name with its default in the table and in the framework, and names that the framework lacks."""
    modules = [importlib.import_module(name) for name in MODULES[framework]]
    for layer in registry.other_layers()[framework]:
        patterns = layer.names.split("|")
        for pattern in patterns:
            names = [pattern.replace("{rank}", rank) for rank in ("1", "2", "3")] if "{rank}" in pattern else [pattern]
            for name in names:
                objects = [one for one in (_attribute(module, name) for module in modules) if one is not None]
                yield name, True, bool(objects)
                given = [default for default in layer.defaults.values() if default.argument]
                for one, default in ((one, default) for one in objects[:1] for default in given):
                    try:
                        parameter = inspect.signature(one).parameters.get(default.argument)
                    except ValueError:  # a function written in C++ has no signature
                        continue
                    yield f"{name}({default.argument})", default.value, parameter.default if parameter else None


def main(framework: str) -> str:
    """Compare all defaults; return the problems, one per line."""
    found = list(found_defaults(framework))
    problems = [
        f"{name}: {here!r} in the hints, {there!r} in {framework}" for name, here, there in found if here != there
    ]
    print(f"{len(found) - len(problems)} of {len(found)} names and defaults of layers are those of {framework}")
    return "\n".join(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) or 0)
