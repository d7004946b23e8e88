"""Signatures of cached values with a secret key of the user.

Cached programs run, and cached results decide verdicts. A cache file can come from somebody else: a repository can
contain a `build` folder, and several users can share a cache folder. Only values that this user has signed are read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import sys
from functools import cache
from pathlib import Path

KEY_BYTES = 32
"""Size of the key in bytes."""
SIGNATURE_BYTES = 16
"""Size of a signature in bytes."""
KEY_FILE = "cache.key"
OTHERS_CAN_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_HAVE_ACCESS = stat.S_IRWXG | stat.S_IRWXO


def signature(content: bytes | memoryview, label: str) -> bytes:
    """Return the signature of a value. label: the place of the value; the signature is invalid for any other."""
    state = hashlib.blake2b(label.encode() + b"\0", key=user_key(), digest_size=SIGNATURE_BYTES)
    state.update(content)
    return state.digest()


def key_folder() -> Path:
    """Return the folder of the key: `nn-conformance` in the user's configuration directory."""
    variable = "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"
    return Path(os.environ.get(variable) or Path.home() / ".config") / "nn-conformance"


@cache
def user_key() -> bytes:
    """Return the key of this user. It is created on the first use.

    Without a key that is readable by this user alone, the key is valid for this process only.
    """
    # A path that is too long or cannot be searched is an OSError, a user without a home folder a RuntimeError.
    with contextlib.suppress(OSError, RuntimeError):
        return _stored_key(key_folder())
    return secrets.token_bytes(KEY_BYTES)


def _stored_key(folder: Path) -> bytes:
    """Return the key in a folder. It is created if it is missing. Raises OSError if it cannot be used."""
    path = folder / KEY_FILE
    if path.exists() and not path.is_file():
        print(f"conformance: no cache is used: {path} is not a regular file", file=sys.stderr)
    for _ in range(2):  # another process may create the key at the same time
        with contextlib.suppress(OSError):
            return _read_key(path)
        with contextlib.suppress(OSError):
            _create_key(folder)
    raise OSError(f"{path}: cannot be created or read")


def _read_key(path: Path) -> bytes:
    """Return the key in a file. Raises OSError if it is missing, shorter, or accessible to other users."""
    # Without O_NONBLOCK, the open would wait for a process that writes to a pipe.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path}: not a regular file")
        if not is_own(os.fstat(descriptor), OTHERS_HAVE_ACCESS):
            raise PermissionError(f"{path}: other users have access")
        key = file.read(KEY_BYTES)
    if len(key) < KEY_BYTES:
        raise OSError(f"{path}: too short")
    return key


def _create_key(folder: Path) -> None:
    """Write a new key in one step, so that no process reads a part of it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = folder / f"{KEY_FILE}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        os.link(temporary, folder / KEY_FILE)  # fails if the key exists
    finally:
        temporary.unlink()


def is_own(status: os.stat_result, forbidden: int) -> bool:
    """Whether a file belongs to this user and gives other users none of the forbidden permissions."""
    if not hasattr(os, "geteuid"):  # Windows has access lists instead of these permissions
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & forbidden
