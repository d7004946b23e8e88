"""Run layers with converted weights in a framework and compare with the reference: `converted_weights.py BACKEND`.

Run it in the environment of the backend. Weights and inputs are integers. Each layer gets the weights that
`conformance.translation.weights.convert` returns for the framework, and its own weights are converted back.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.converted_weights import layers_of, problem  # noqa: E402


def main(backend: str) -> str:
    """Run all layers that a backend has; return the problems, one per line."""
    engine = backend.partition("-")[2]
    os.environ.update({"KERAS_BACKEND": engine} if engine else {}, JAX_PLATFORMS="cpu")
    found = layers_of(backend)
    problems = [text for one in found if (text := problem(*one))]
    print(f"{len(found) - len(problems)} of {len(found)} layers with converted weights agree on {backend}")
    return "\n".join(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) or 0)
