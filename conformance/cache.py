"""What has been found sound before, by content: of the case, of the suite's source and of the versions below it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).parent.parent
FOLDER = "conformance-check"
KEPT = 8
"""Files that are kept: one for each set of source and versions."""


def folder(name: str = FOLDER) -> Path:
    """Return where a cache is: in `build` of a checkout, else in the user's folder for caches."""
    if (ROOT / "pyproject.toml").is_file() and (ROOT / "cases").is_dir():
        return ROOT / "build" / name
    usual = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    return Path(usual or Path.home() / ".cache") / "nn-conformance" / name


@cache
def environment(sources: tuple[str, ...] = ("conformance", "reference")) -> str:
    """128 bits over all that a finding depends on beside the case: source files, NumPy, ml_dtypes, Python.

    sources: the folders of Python files, and single ones.
    """
    roots = [ROOT / name for name in sources]
    files = [path for root in roots for path in (sorted(root.rglob("*.py")) if root.is_dir() else [root])]
    state = hashlib.blake2b(f"{np.__version__} {ml_dtypes.__version__} {sys.version}".encode(), digest_size=16)
    for path in files:
        state.update(f"\n{path.relative_to(ROOT).as_posix()}\n".encode() + path.read_bytes())
    return state.hexdigest()


def forget(paths: Iterable[Path], kept: int) -> None:
    """Remove files but for the last ones."""
    for path in sorted(paths, key=lambda path: path.stat().st_mtime)[:-kept]:
        path.unlink(missing_ok=True)
