"""Modules that are loaded before the framework: their functions, the import system, and permanent hooks."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import json
import os
import platform
import random
import sys
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np

from .generators import OBJECT_HEADER_BYTES

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from collections.abc import Sequence
    from typing import Any


VERSION_BYTES = 8
"""Size of the version of a dictionary."""
MEMORY_WORDS = 1 << 44
"""Number of words of 8 bytes in the address space of a program."""
UNVERSIONED_MODULES = (builtins, contextlib, json, os, random, time, warnings, np, np.random)
"""Modules whose functions are compared after each program if dictionaries have no version, as in Python 3.14."""
LATER_MODULES = (
    "asyncio", "asyncio.events", "concurrent.futures.thread", "copy", "dataclasses", "fractions", "logging", "shutil",
    "socket", "statistics", "string", "subprocess", "tempfile",
)  # fmt: skip
"""Modules of the standard library that this file does not import. Their functions are restored if the setup did."""
IMPORT_PLACES = ("path", "meta_path", "path_hooks")
ENVIRONMENT: dict[bytes, bytes] = vars(os.environ)["_data"]
"""The encoded environment."""
MODULES, IMPORTERS = sys.modules, sys.path_importer_cache


def import_places() -> Any:
    """Return the lists that imports use, copies of them, and whether two dictionaries are the original ones."""
    path, finders, hooks = sys.path, sys.meta_path, sys.path_hooks
    copies = path.copy(), finders.copy(), hooks.copy()
    return (path, finders, hooks), copies, sys.modules is MODULES, sys.path_importer_cache is IMPORTERS


def set_import_places(places: Any) -> None:
    """Set the lists and dictionaries that imports use. Cached importers may be those of other lists."""
    for name, one, content in zip(IMPORT_PLACES, *places[:2]):  # noqa: B905 - Python 3.8 has no `strict`
        one[:] = content
        setattr(sys, name, one)
    sys.modules, sys.path_importer_cache = MODULES, IMPORTERS
    IMPORTERS.clear()


def count_audit_hook(hook: Any) -> None:
    """Add an audit hook. It cannot be removed, so that a process with a hook of a program is replaced."""
    PERMANENT_HOOKS.append(hook)
    ADD_AUDIT_HOOK(hook)


def count_fork_hooks(**hooks: Any) -> None:
    """Add functions that run when the process forks. They cannot be removed. Those of modules are not counted."""
    for hook in hooks.values():
        module = sys.modules.get(getattr(hook, "__module__", None) or "")
        if getattr(hook, "__globals__", None) not in (None, getattr(module, "__dict__", None)):
            PERMANENT_HOOKS.append(hook)
    REGISTER_AT_FORK(**hooks)


PERMANENT_HOOKS: list[Any] = []
ADD_AUDIT_HOOK, REGISTER_AT_FORK = sys.addaudithook, os.register_at_fork
sys.addaudithook, os.register_at_fork = count_audit_hook, count_fork_hooks


def version_places(dictionaries: Sequence[Any]) -> Any:
    """Return the places in MEMORY of the versions, which CPython before 3.14 increases with each change."""
    offset = OBJECT_HEADER_BYTES + ctypes.sizeof(ctypes.c_ssize_t)
    return np.array([(id(names) + offset) // VERSION_BYTES - 1 for names in dictionaries], np.intp)


def read_versions(places: Any) -> bytes:
    """Return the versions at some places. One call of C reads all of them."""
    return MEMORY[places].tobytes()  # type: ignore[no-any-return]


def have_versions() -> bool:
    """Whether dictionaries have a version."""
    names: dict[str, int] = {}
    place = version_places([names])
    before = read_versions(place)
    names["key"] = 0
    return bool(platform.python_implementation() == "CPython" and read_versions(place) != before)


# An array cannot start at the address 0.
ADDRESS_SPACE: Any = (ctypes.c_uint64 * (MEMORY_WORDS - 1)).from_address(VERSION_BYTES)
MEMORY = np.ndarray((MEMORY_WORDS - 1,), np.uint64, ADDRESS_SPACE)
"""The memory of the process as an array of words. Only the places of versions are read."""


class ModuleFunctions:
    """The functions, classes and floats of modules that are loaded before the framework, and these modules.

    Programs and frameworks use them. The versions of the dictionaries show which modules have changed.
    It is created before the framework is loaded.

    tables: the dictionary of each module, and the names in it that are restored.
    """

    def __init__(self) -> None:
        self.early_modules = tuple(sys.modules)
        self._initial: list[tuple[Any, ...]] = []
        self._version_of_environment, self._environment = b"", ENVIRONMENT.copy()

    def find_modules(self) -> None:
        """Set the tables."""
        self._has_versions = have_versions()
        loaded = [sys.modules[name] for name in (*self.early_modules, *LATER_MODULES) if name in sys.modules]
        modules = [vars(module) for module in (loaded if self._has_versions else UNVERSIONED_MODULES)]
        self.tables: list[tuple[dict[Any, Any], Sequence[str]]] = [
            (ENVIRONMENT, ()),
            (MODULES, self.early_modules),
            (IMPORTERS, tuple(IMPORTERS)),
            (vars(json), ("_default_decoder", "_default_encoder")),
            (vars(random), ("_inst",)),
            (vars(np), ("mgrid",)),
            *(
                (names, [key for key, value in names.items() if callable(value) or type(value) is float])
                for names in modules
            ),
        ]
        self._places = version_places([names for names, _ in self.tables])
        self._seen = b""
        self._found: list[tuple[Any, ...]] = [()] * len(self.tables)
        self.read()
        self._initial = self._found

    def read(self) -> Any:
        """Return the functions of each module. The same objects if no module has changed."""
        seen = read_versions(self._places)
        if seen != self._seen or not self._has_versions:
            self._found = self._found.copy()
            for number, (names, keys) in enumerate(self.tables):
                place = slice(number * VERSION_BYTES, (number + 1) * VERSION_BYTES)
                if seen[place] != self._seen[place] or not self._has_versions:
                    self._found[number] = tuple(map(names.get, keys))
            self._seen = seen
            # The same object is compared fast.
            self._found = self._initial if self._found == self._initial else self._found
        return [self._found]

    def environment(self) -> Any:
        """Return a copy of the encoded environment, the same object if it has not changed since the last `read`.

        A decoded copy takes a hundred times as long.
        """
        version = self._seen[:VERSION_BYTES]
        if version != self._version_of_environment or not self._has_versions:
            self._version_of_environment, self._environment = version, ENVIRONMENT.copy()
        return vars(os.environ)["_data"] is ENVIRONMENT, self._environment

    def set_environment(self, state: Any) -> None:
        """Replace the environment variables with an encoded copy of them."""
        vars(os.environ)["_data"] = ENVIRONMENT
        os.environ.clear()
        os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in state[1].items()})
        time.tzset()
        self.read()

    def write(self, state: Any) -> None:
        """Set the functions of each module."""
        for (names, keys), functions, found in zip(self.tables, state[0], self._found):  # noqa: B905
            if functions != found:
                names.update(item for item in zip(keys, functions) if item[1] is not None)  # noqa: B905
