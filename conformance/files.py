"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: what was there stays until there was room for the new one. Raises OSError."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    if path.exists() and not path.is_file():  # a device or a pipe takes no other's place
        path.write_bytes(data)
        return
    path = path.resolve()
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
