"""What the header of a results file says of where a run was made."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from conformance import __version__
from conformance.adapter import Backend, Surface


def environment_record(backend: Backend, surfaces: Iterable[Surface], worker: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record; worker: what a worker tells of its environment."""
    return {
        "python": worker["python"],
        "platform": platform.platform(),
        "suite": {"nn-conformance": __version__, "numpy": np.__version__},
        "packages": worker["packages"],
        "cpu": worker["cpu"],
        "instructions": backend.instructions,
        **worker["device"],
        "setup": {surface.name: backend.threads + backend.setup for surface in surfaces},
        "threads": 1,
    }
