"""The C library of the process."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    pass


C_LIBRARY = ctypes.PyDLL(None)
"""Calls do not release the interpreter lock, which saves time."""
GET_LOCALE = C_LIBRARY.setlocale
GET_LOCALE.restype = ctypes.c_char_p
SET_TIMER, NO_TIME = C_LIBRARY.setitimer, ctypes.byref(ctypes.create_string_buffer(32))
"""The function `setitimer`, and a buffer for the C type itimerval that contains zeros."""
