"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, text: str) -> None:
    """Write a file whole or not at all: what was there stays until there was room for the new one. Raises OSError."""
    if path.exists() and not path.is_file():  # a device or a pipe takes no other's place
        path.write_text(text, "utf-8", "replace")
        return
    path = path.resolve()
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, "utf-8", "replace")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
