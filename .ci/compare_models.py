"""Compare a network of PyTorch with its ports: the correct ones agree, and each mistake is named with its layer.

Run it in any environment of the suite; the frameworks run in theirs: `compare_models.py .tox`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from conformance.execution.job import DEFAULT_LIMITS  # noqa: E402
from conformance.models.comparison.compare import Place, compare_models  # noqa: E402
from conformance.models.comparison.drawn_inputs import drawn_input  # noqa: E402
from conformance.models.comparison.recording import RecordedModel, record_model  # noqa: E402
from conformance.models.comparison.source import parse_model_source  # noqa: E402

FOLDER = ROOT / "tests" / "support" / "compared_models"
KINDS = ("integers", "negative")
# The factory of each port, and where it differs: the layer, and the kind of place.
PORTS = {
    ("jax", "port_jax.py:make"): None,
    ("jax", "port_jax.py:wrong_epsilon"): ("pool", Place.BETWEEN),
    ("jax", "port_jax.py:zero_padding"): ("pool", Place.LAYER),
    ("jax", "port_jax.py:unflipped"): ("up", Place.LAYER),
    ("jax", "port_jax.py:dilated"): ("grouped", Place.LAYER),
    ("jax", "port_jax.py:wrong_groups"): ("grouped", Place.LAYER),
    ("jax", "port_jax.py:wrong_layout"): ("grouped", Place.LAYER),
    ("keras-tensorflow", "port_keras.py:make"): None,
    ("keras-tensorflow", "port_keras.py:dilated"): ("grouped", Place.LAYER),
    ("keras-tensorflow", "port_keras.py:wrong_groups"): ("grouped", Place.LAYER),
    ("keras-tensorflow", "port_keras.py:wrong_layout"): ("grouped", Place.LAYER),
}


def record(backend: str, place: str, environments: Path, weights: RecordedModel | None = None) -> RecordedModel:
    """Record a model in the environment of its backend."""
    source = parse_model_source(f"{backend}:{FOLDER}/{place}")
    inputs = [{"0": drawn_input(kind, (1, 3, 32, 32), 0)} for kind in KINDS]
    python = str(environments / backend / "bin" / "python")
    given = weights.weights if weights else None
    return record_model(source, inputs, python=python, limits=DEFAULT_LIMITS, weights=given)


def main(environments: Path) -> str:
    """Compare all ports; return the problems, one per line."""
    network = record("torch", "net_torch.py:make", environments)
    problems = []
    for (backend, place), expected in PORTS.items():
        port = record(backend, place, environments, network)
        for run in compare_models(network, port, KINDS):
            found = run.first and (run.first.layer and run.first.layer.source.name, run.first.place)
            if found != expected:
                problems.append(f"{backend} {place}, {run.kind}: {found} instead of {expected}")
    print(f"{len(PORTS)} ports compared, {len(problems)} problems")
    return "\n".join(problems)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()) or 0)
