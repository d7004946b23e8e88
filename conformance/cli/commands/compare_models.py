"""`conformance compare-models`: compare a model with its port, and name the first layer that differs."""

from __future__ import annotations

import sys
import time
import zipfile
from collections.abc import Iterator, Sequence

import click
import numpy as np

from conformance import ConformanceError
from conformance.cases.limits import MAX_ARRAY_ELEMENTS
from conformance.cli.console import print_text
from conformance.cli.options import NO_PROGRESS_OPTION, timeout_option
from conformance.cli.parameter_types import parse_input_shapes
from conformance.cli.progress import phase_progress
from conformance.execution.job import Limits
from conformance.execution.targets import run_targets
from conformance.models.comparison.compare import FirstDifference, LayerComparison, Place, RunComparison, compare_models
from conformance.models.comparison.drawn_inputs import KINDS, drawn_inputs
from conformance.models.comparison.reasons import layer_reasons
from conformance.models.comparison.recording import ModelInput, record_model
from conformance.models.comparison.smallest_difference import difference_text, smallest_difference
from conformance.models.comparison.source import ModelSource, parse_model_source

DEFAULT_TIME_LIMIT = 300.0
"""Seconds for all runs of one model."""
MAX_OTHER_DIFFERENCES = 20
"""Number of layers after the first difference whose reasons are printed."""
MAX_REORDERED = 3
"""Number of layers in another order that are named."""
MIN_RANK = 3
"""Smallest number of axes of an input: batch, channels, and one spatial axis."""


@click.command("compare-models")
@click.argument("source")
@click.argument("port")
@click.option(
    "--input",
    "shapes",
    multiple=True,
    metavar="[NAME=]SHAPE",
    help="Shape of an input, channels first, such as 1x3x224x224. Repeatable, for a model with several inputs, in "
    "their order. Needed unless --input-file is given.",
)
@click.option(
    "--input-file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE.npy|FILE.npz",
    help="Use this array, channels first, as an additional input; for a model with several inputs, the arrays of an "
    "npz file in their order.",
)
@click.option(
    "--values",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    help="Kind of drawn inputs. Repeatable. [default: all]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the drawn inputs.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME=PYTHON",
    help="Interpreter of a backend that is installed in another environment. Repeatable.",
)
@timeout_option(DEFAULT_TIME_LIMIT)
@NO_PROGRESS_OPTION
def compare_models_command(  # noqa: PLR0917 - click passes the options by name
    source: str,
    port: str,
    shapes: tuple[str, ...],
    input_file: str | None,
    kinds: tuple[str, ...],
    seed: int,
    backends: tuple[str, ...],
    timeout: float,
    *,
    quiet: bool,
) -> None:
    """Name the first layer at which a port of a model differs.

    SOURCE and PORT are an ONNX file, or BACKEND:FILE.py:FACTORY or BACKEND:MODULE:FACTORY, where FACTORY is a function
    that returns the model. It is called in a worker process. If the factory of the port has a parameter, it receives
    the weights of the source as a dictionary of NumPy arrays. Give inputs with channels first; they are transposed for
    models of backends with channels last. Several inputs are passed in their order. An input with a name is passed
    by its name to an ONNX file that has it.

    Each layer of the port is judged by the exact result of the source's layer for the input that the port's layer has
    received, with the proved error bound.

    Exit status: 0 the models agree; 1 they differ; 2 wrong usage, or a model cannot be run.

    Example: conformance compare-models SOURCE PORT --input 1x3x32x32
    """
    first, second = parse_model_source(source), parse_model_source(port)
    pythons = _interpreters(backends, (first, second))
    inputs = dict(_inputs(shapes, input_file, kinds, seed))
    limits = Limits(case_seconds=timeout)
    started = time.monotonic()
    with phase_progress(is_quiet=quiet) as progress:
        progress(f"running {first}")
        recorded = record_model(first, list(inputs.values()), python=pythons[first.backend], limits=limits)
        progress(f"running {second}")
        other = record_model(
            second, list(inputs.values()), python=pythons[second.backend], limits=limits, weights=recorded.weights
        )
        comparisons = compare_models(recorded, other, list(inputs), progress)
        lines = list(comparison_lines(comparisons))
    for line in lines:
        print_text(line)
    click.echo(f"{time.monotonic() - started:.1f} s", err=True)
    sys.exit(int(any(one.first for one in comparisons)))


def _interpreters(texts: Sequence[str], sources: Sequence[ModelSource]) -> dict[str, str]:
    found = {source.backend: sys.executable for source in sources}
    for target in run_targets(texts, ()) if texts else ():
        if target.name not in found:
            raise ConformanceError(f"--backend {target.name}: neither model is one of {target.name}")
        found[target.name] = target.python
    return found


def _inputs(
    texts: Sequence[str], input_file: str | None, kinds: Sequence[str], seed: int
) -> Iterator[tuple[str, ModelInput]]:
    shapes = _input_shapes(texts)
    if input_file:
        found = _read_input(input_file)
        if shapes and list(shapes) != list(found):
            named = ", ".join(found)
            raise ConformanceError(
                f"--input-file {input_file}: has the inputs {named}, --input has {', '.join(shapes)}"
            )
        yield "file", found
    if not shapes:
        if not input_file:
            raise ConformanceError("--input or --input-file is needed: the shape of the input, such as 1,3,32,32")
        return
    for kind in kinds or KINDS:
        yield kind, drawn_inputs(kind, shapes, seed)


def _input_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes by name, or by position for an input without a name."""
    found: dict[str, tuple[int, ...]] = {}
    for number, text in enumerate(texts):
        ((name, extents),) = parse_input_shapes([text]).items()
        if (name or str(number)) in found:
            raise ConformanceError(f"--input {name}: given twice")
        if int(np.prod([float(one) for one in extents])) > MAX_ARRAY_ELEMENTS:
            raise ConformanceError(f"--input {text}: more than {MAX_ARRAY_ELEMENTS:,} elements")
        found[name or str(number)] = extents
    if found and max(map(len, found.values())) < MIN_RANK:
        raise ConformanceError(f"--input {texts[0]}: a batch, channels and 1 or more spatial extents, each at least 1")
    return found


def _read_input(path: str) -> ModelInput:
    """Return the array of an npy file, or the arrays of an npz file by their names."""
    try:
        found = np.load(path, allow_pickle=False)
        arrays = dict(found.items()) if isinstance(found, np.lib.npyio.NpzFile) else {"0": found}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ConformanceError(f"--input-file {path}: {error}") from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or not array.ndim or array.dtype.kind not in "fiu":
            raise ConformanceError(f"--input-file {path}: {name}: not an array of numbers")
    if not arrays or max(array.ndim for array in arrays.values()) < MIN_RANK:
        raise ConformanceError(f"--input-file {path}: no array of numbers (n, c, *spatial)")
    return arrays


def comparison_lines(comparisons: Sequence[RunComparison]) -> Iterator[str]:
    """Yield the lines of the report: one for each layer, then the first difference of each input."""
    first = next((one for one in comparisons if one.first), comparisons[0])
    yield from _layer_table(first)
    yield from _parts_lines(first)
    yield from _order_lines(first)
    yield ""
    for one in comparisons:
        if one.first is None:
            yield f"{one.kind}: {_agreement_text(one)}"
        else:
            yield f"{one.kind}: {_difference_line(one.first)}"
    if first.first:
        yield from ("", *_details(first.first))
        yield from _other_differences(first)


def _agreement_text(run: RunComparison) -> str:
    """Return how many layers agree, and how many the port writes in another way."""
    rewritten = sum(layer.is_rewritten for layer in run.layers)
    further = f"; {rewritten} not compared: written differently" if rewritten else ""
    return f"{len(run.layers) - rewritten} layers and the results agree{_limits_text(run)}{further}"


def _limits_text(run: RunComparison) -> str:
    """Return for how many inputs of layers, and for whether the results, the agreement is proved and measured."""
    compared = [layer for layer in run.layers if not layer.is_rewritten]
    proved = sum(layer.input_is_proved for layer in compared)
    measured = len(compared) - proved
    results = "" if run.results_are_proved else ", and the results"
    if not measured and run.results_are_proved:
        return " (proved)"
    return f" (proved for the inputs of {proved} layer{'s' * (proved != 1)}; measured limit for {measured}{results})"


def _layer_table(run: RunComparison) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("source", "port", "operator", "output", "verdict", "error / bound")]
    for number, layer in enumerate(run.layers):
        rows += _rows_without_partner(run, number)
        used = layer.verdict.budget_used
        rows.append(
            (
                layer.source.name,
                layer.port.name,
                layer.source.call.kind,
                "x".join(map(str, layer.port.call.shaped_result.shape)),
                _layer_verdict(layer),
                "" if used is None or layer.is_rewritten else f"{used:.2g}",
            )
        )
    rows += _rows_without_partner(run, len(run.layers))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _parts_lines(run: RunComparison) -> Iterator[str]:
    """Yield a line for each layer that one model writes as several calls."""
    lines = []
    for layer in run.layers:
        sides = ("source", layer.source), ("port", layer.port)
        for (own, side), (other_name, other) in (sides, sides[::-1]):
            if side.call.parts:
                groups = other.call.parameters.get("groups", 1)
                text = f"{groups} groups in one call of the {other_name}, " if groups > 1 else ""
                count, joining = side.call.parts.count, side.call.parts.joining.value
                lines.append(f"{layer.source.name}: {text}{count} calls in the {own}, {joining}")
    yield from ("", *lines) if lines else ()


def _order_lines(run: RunComparison) -> Iterator[str]:
    """Yield a line with the layers that run in another order in the port."""
    found = [f"{layer.name} before {other.name}" for layer, other in run.aligned.earlier_in_port]
    if found:
        further = f", and {len(found) - MAX_REORDERED} more" if len(found) > MAX_REORDERED else ""
        yield ""
        yield f"Another order in the port: {', '.join(found[:MAX_REORDERED])}{further}"


def _rows_without_partner(run: RunComparison, position: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the layers that have no partner and are before a pair."""
    for is_port, layers in enumerate((run.aligned.only_in_source, run.aligned.only_in_port)):
        for number, layer in layers:
            if number == position:
                names = ("-", layer.name) if is_port else (layer.name, "-")
                shape = "x".join(map(str, layer.call.shaped_result.shape))
                yield (*names, layer.call.kind, shape, "no partner", "")


def _layer_verdict(layer: LayerComparison) -> str:
    if not layer.agrees:
        return "differs"
    if layer.is_rewritten:
        return "written differently"
    if layer.agrees_later or (layer.input_agrees_later and not layer.is_cropped):
        return "same with what follows"
    crop = " but for a crop" if layer.is_cropped else ""
    return f"same{crop}" if layer.input_agrees else f"same{crop}, other input"


def _difference_line(found: FirstDifference) -> str:
    if found.place is Place.LAYER and found.layer:
        return f"layer {found.layer.source.name} differs (port: {found.layer.port.name})"
    place = f"before layer {found.layer.source.name}" if found.layer else "in the results"
    size = f"difference {found.difference:.3g}, limit {found.limit:.3g}"
    missing = f": {found.missing}" if found.missing else ""
    return f"the models differ {place}, after {found.after} ({size}){missing}"


def _details(found: FirstDifference) -> Iterator[str]:
    if found.layer is None or found.place is Place.BETWEEN:
        yield from found.reasons
        return
    layer = found.layer
    yield f"Layer {layer.source.name}: {layer.verdict.message or _worst_text(layer)}"
    yield from (f"  {reason}" for reason in found.reasons)
    if not found.reasons:
        yield "  The recorded parameters and weights are the same, so the frameworks compute different results."
    smallest = smallest_difference(layer.source, layer.port)
    if smallest:
        yield "Smallest input that shows the difference:"
        yield from (f"  {line}" for line in difference_text(smallest))


def _other_differences(run: RunComparison) -> Iterator[str]:
    """Yield the layers after the first difference that do not compute what the source's layer computes."""
    first = run.first.layer if run.first and run.first.place is Place.LAYER else None
    others = [layer for layer in run.layers if not layer.agrees and layer is not first]
    if others:
        yield ""
        yield "Other layers that differ, judged on their own inputs:"
    for layer in others[:MAX_OTHER_DIFFERENCES]:
        known = [one.source for one in run.layers if one is not layer]
        reasons = layer_reasons(layer.source, layer.port, known) or [layer.verdict.message or _worst_text(layer)]
        yield f"  {layer.source.name} (port: {layer.port.name}): {'; '.join(reasons)}"
    if len(others) > MAX_OTHER_DIFFERENCES:
        yield f"  and {len(others) - MAX_OTHER_DIFFERENCES} more"


def _worst_text(layer: LayerComparison) -> str:
    worst = layer.verdict.worst
    if worst is None:
        return layer.verdict.kind.value if layer.verdict.kind else "differs"
    return f"element {list(worst.index)} is {worst.got!r}, not {worst.expected!r}"
