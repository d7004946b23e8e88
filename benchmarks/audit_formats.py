"""Read networks in several formats, compare their layers, audit them, and write docs/audit-formats.md.

    python benchmarks/audit_formats.py --keras PYTHON --litert PYTHON --jax PYTHON --target torch=PYTHON … --out FILE

The interpreter of --keras has Keras and TensorFlow, that of --jax has JAX and Flax.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.audit_architectures import audit_network, reasons, table
from conformance.adapters import registry
from conformance.cli.commands.audit import parse_target
from conformance.models.layer import Model
from conformance.models.reading import ModelSource, read_model

ROOT = Path(__file__).parents[1]
KERAS_NETWORKS = ("ResNet50", "MobileNetV3Small", "InceptionV3", "EfficientNetB0")
FLAX_NETWORK = "ResNet-18 in Flax"
INTRODUCTION = """\
# Audits of models in several formats

[`conformance audit`](how-to/audit-a-model.md) read each of these networks in several formats. The networks of
`keras.applications` have random weights; `tf.lite.TFLiteConverter` converted them. The residual network is a Flax
module, as a Python function and as the StableHLO that `jax.export` writes. `python benchmarks/audit_formats.py`
repeats the measurement.

Two layers are the same if operator, parameters, input shape and kernel shape are the same. Biases are not compared:
the converter folds batch normalizations into convolutions, which have a bias after it. Layers that differ are counted
in the format and in the first format of the network: "4 for 8" means that 4 layers take the place of 8.
"""
DIFFERENCES = """\

All differences are of one kind: the converter merges explicit padding with the convolution after it, where SAME padding
gives the same result. The weights of the Flax network are arguments of its function, and neither format has them.

## Audits

The table has the verdicts of [the other audits](audit.md), for the first format of each network.
"""


def layers_of(model: Model) -> Counter[str]:
    """Return what each layer computes, with the number of such layers."""
    return Counter(
        repr((one.operator, sorted(one.parameters.items()), one.shape, one.kernel, one.problem)) for one in model.layers
    )


def read_formats(sources: Mapping[str, ModelSource]) -> dict[str, Any]:
    """Return a record of each format."""
    records, first = {}, None
    for name, source in sources.items():
        started = time.monotonic()
        model = read_model(source)
        seconds, layers = time.monotonic() - started, layers_of(model)
        first = layers if first is None else first
        records[name] = {
            "layers": len(model.layers),
            "kernels": sum(bool(one.kernel) for one in model.layers),
            "weights": sum(bool(one.weights) for one in model.layers),
            "problems": sum(bool(one.problem) for one in model.layers),
            "differences": [(layers - first).total(), (first - layers).total()],
            "seconds": seconds,
        }
    return records


def format_rows(records: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table of formats."""
    lines = [
        "| network | format | layers | convolutions with weights | not checked | different layers | read in |",
        "|---|---|---|---|---|---|---|",
    ]
    for network, record in records.items():
        for name, one in record["formats"].items():
            alone, missing = one["differences"]
            differences = f"{alone} for {missing}" if alone or missing else "none"
            weights = f"{one['weights']} of {one['kernels']}"
            cells = (network, name, one["layers"], weights, one["problems"], differences, f"{one['seconds']:.0f} s")
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def sources(network: str, options: argparse.Namespace, folder: Path) -> Mapping[str, ModelSource]:
    """Write a network and return its sources by format."""
    readers = registry.model_readers()
    if network == FLAX_NETWORK:
        file = folder / "resnet18.mlir"
        _run([options.jax, "-m", "benchmarks.flax_architectures", file])
        return {
            "StableHLO": ModelSource(str(file), readers["jax"], options.jax, {}),
            "function": ModelSource("benchmarks.flax_architectures:resnet18", readers["jax"], options.jax, {}),
        }
    _run([options.keras, "-m", "benchmarks.keras_architectures", network, folder])
    path = folder / network
    return {
        "`.keras`": ModelSource(f"{path}.keras", readers["keras"], options.keras, {}),
        "SavedModel": ModelSource(str(path), readers["tensorflow"], options.keras, {}),
        "`.tflite`": ModelSource(f"{path}.tflite", readers["litert"], options.litert, {}),
    }


def _run(command: Sequence[object]) -> None:
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True, capture_output=True)  # noqa: S603


def main() -> None:
    """Read and audit the networks and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--keras", "--litert", "--jax"):
        parser.add_argument(name, required=True)
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "audit-formats.md")
    parser.add_argument("--records", type=Path, default=ROOT / "build" / "audited-formats.json")
    options = parser.parse_args()
    targets = [parse_target(text) for text in options.target]
    records = json.loads(options.records.read_text("utf-8")) if options.records.exists() else {}
    for name in (*KERAS_NETWORKS, FLAX_NETWORK):
        if name in records:
            continue
        with tempfile.TemporaryDirectory() as folder:
            formats = sources(name, options, Path(folder))
            records[name] = {"formats": read_formats(formats), **audit_network(next(iter(formats.values())), targets)}
        options.records.parent.mkdir(exist_ok=True)
        options.records.write_text(json.dumps(records, indent=1), "utf-8")
        print(name, records[name]["cells"], file=sys.stderr, flush=True)
    lines = [INTRODUCTION, *format_rows(records), DIFFERENCES, *table(records), "", "### Which layers, and why", ""]
    lines += [f"#{one}" if one.startswith("###") else one for one in reasons(records)]
    options.out.write_text("\n".join(lines).rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
