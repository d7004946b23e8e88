"""Floating-point state of the process."""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import TYPE_CHECKING

from .c_library import C_LIBRARY

if TYPE_CHECKING:  # Python 3.8 cannot evaluate these annotations
    from typing import Any


FLOATING_POINT_ENVIRONMENT_BYTES = 256
"""Size of a buffer for the C type fenv_t, which has 32 bytes on x86-64 and 8 bytes on 64-bit ARM."""
HALF_ULP, MIN_NORMAL, MIN_SUBNORMAL, SCALE, ONE, HALF = 2.0**-54, sys.float_info.min, 5e-324, 2.0**60, 1.0, 0.5
"""Operands of the computations that show the floating-point state. Python evaluates constants at compile time."""
X86_ENVIRONMENT_BYTES, MXCSR_POSITION = 32, 28
"""Size of fenv_t on x86-64, which starts with the control word of the x87 unit, and the position of that of SSE."""
X87_CONTROL_MASK, MXCSR_MASK = 0x0F3F, 0xFFC0
"""Bits that control traps, precision and rounding. The other bits are flags of past exceptions."""
CONTROL_MASK = X87_CONTROL_MASK | MXCSR_MASK << 8 * MXCSR_POSITION


class FloatingPointState:
    """Rounding mode and treatment of subnormal numbers, in the control registers of this thread."""

    NAMES = ("rounding mode", "rounding mode", "rounding mode", "rounding mode", "flush-to-zero", "denormals-are-zero")

    def __init__(self) -> None:
        self._library = C_LIBRARY
        self._buffer = ctypes.create_string_buffer(FLOATING_POINT_ENVIRONMENT_BYTES)
        self._saved = ctypes.create_string_buffer(FLOATING_POINT_ENVIRONMENT_BYTES)
        # The registers themselves also contain flags of past exceptions, which change all the time.
        self._get_rounding = getattr(self._library, "fegetround", int)
        self._has_x86_registers = platform.machine() in {"x86_64", "AMD64"} and hasattr(self._library, "fegetenv")
        self._registers = (ctypes.c_char * X86_ENVIRONMENT_BYTES).from_buffer(self._buffer)
        self._get_environment: Any = getattr(self._library, "fegetenv", None)
        self._buffer_reference = ctypes.byref(self._buffer)
        self._initial = self._computed()
        self._initial_control = self._control()
        if hasattr(self._library, "fegetenv"):
            self._library.fegetenv(self._saved)

    def _computed(self) -> tuple[float, ...]:
        """Return results that depend on the state: the sums on the rounding mode, the products on the flags."""
        # fegetround reads the x87 unit on x86, which computes long double; Python's floats are computed by SSE.
        sums = (ONE + HALF_ULP, ONE - HALF_ULP * HALF, -ONE - HALF_ULP)
        return (self._get_rounding(), *sums, MIN_NORMAL * HALF, MIN_SUBNORMAL * SCALE)

    def _control(self) -> int:
        """Return the control bits of both registers on x86; other processors have no traps or precision to change."""
        if not self._has_x86_registers:
            return 0
        self._library.fegetenv(self._buffer)
        return int.from_bytes(self._registers.raw, "little") & CONTROL_MASK

    def has_changed(self) -> bool:
        """Whether the state has changed. On x86, the registers determine the results."""
        if self._has_x86_registers:
            self._get_environment(self._buffer_reference)
            return int.from_bytes(self._registers.raw, "little") & CONTROL_MASK != self._initial_control
        return self._computed() != self._initial

    def restore(self) -> tuple[list[str], bool]:
        """Return the names of the changed state, and whether it could be restored."""
        if not self.has_changed():
            return [], True
        computed = self._computed()
        pairs = zip(self.NAMES, computed, self._initial)  # noqa: B905 - Python 3.8 has no `strict`
        changed = dict.fromkeys(name for name, now, before in pairs if now != before)
        if hasattr(self._library, "fesetenv"):
            self._library.fesetenv(self._saved)
        names = list(changed) or ["traps or precision of floating-point numbers"]
        return names, self._computed() == self._initial and self._control() == self._initial_control
