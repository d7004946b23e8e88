"""What has been found sound before, by content: of the case, of the suite's source and of the versions below it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

from conformance.lock import Frozen

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


@dataclass
class Cache:
    """Records of what is sound, by a digest of its canonical text; a faulty case is never in it."""

    path: Path
    known: dict[str, str] = field(default_factory=dict)
    fresh: dict[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Cache:
        """Return the cache of this source and these versions; an unreadable one is empty."""
        path = folder() / f"{environment()}.json"
        try:
            known = json.loads(path.read_text("utf-8"))
            return cls(path, {str(key): str(text) for key, text in known.items()})
        except (OSError, ValueError, AttributeError):
            return cls(path)

    def get(self, canonical: str) -> tuple[Frozen | None] | None:
        """Return the record that was found with this text, in a tuple as it may be None; None if it is not known."""
        text = self.known.get(_key(canonical))
        if text is None:
            return None
        return (Frozen(*text.split()) if text else None,)

    def put(self, canonical: str, record: Frozen | None) -> None:
        """Enter what is sound."""
        self.fresh[_key(canonical)] = record.text if record else ""

    def save(self) -> None:
        """Write what is new. Whatever cannot be written is found out again the next time."""
        if not self.fresh:
            return
        beside = self.path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps({**self.known, **self.fresh}, indent=0), "utf-8")
            beside.replace(self.path)
            forget(self.path.parent.glob("*.json"), KEPT)


def forget(paths: Iterable[Path], kept: int) -> None:
    """Remove files but for the last ones."""
    for path in sorted(paths, key=lambda path: path.stat().st_mtime)[:-kept]:
        path.unlink(missing_ok=True)


def _key(canonical: str) -> str:
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
