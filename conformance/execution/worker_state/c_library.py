"""The C library of the process."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    pass


C_LIBRARY = ctypes.CDLL(None)
