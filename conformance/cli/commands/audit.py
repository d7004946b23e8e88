"""`conformance audit`: check every layer with windows of a model on other surfaces."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.adapters.api import Backend, Surface
from conformance.catalogue import describe
from conformance.cli.console import line_width
from conformance.cli.lookup import find_framework_surface, find_surface
from conformance.cli.options import timeout_option
from conformance.execution.job import Limits
from conformance.execution.targets import RunTarget
from conformance.exploration.evaluation import LocalEvaluator
from conformance.models.audit import (
    Audit,
    AuditedLayer,
    LayerQuestions,
    LayerVerdict,
    TargetVerdict,
    audit_backend,
    questions_of_model,
)
from conformance.models.html import html_lines
from conformance.models.layer import Model
from conformance.models.reading import READ_SECONDS, ModelSource, find_reader, read_model
from conformance.models.report import TERMINAL_WIDTH, WRITERS
from conformance.models.rewrites import rewrite_lines, rewrite_reason
from conformance.system.atomic_write import write_in_folder

FORMATS = {**WRITERS, "html": html_lines}
"""Writers of an audit, by the value of --format."""
DIFFERENCE_EXIT_STATUS = 1
DEFAULT_TIMEOUT_SECONDS = 60.0
MAX_AXES = 8
MAX_INPUT_EXTENT = 10_000_000
SHAPE_PATTERN = re.compile(r"[0-9]{1,8}(x[0-9]{1,8})*")


@dataclass(frozen=True)
class AuditTarget:
    """A surface on which layers are checked, with the interpreter of its backend."""

    surface: Surface
    run: RunTarget

    @property
    def backend(self) -> Backend:
        """The backend of the surface."""
        return self.run.backend


def parse_target(text: str) -> AuditTarget:
    """Parse NAME or NAME=PYTHON, where NAME is a surface, a framework or a backend."""
    name, _, python = text.partition("=")
    surface = find_framework_surface(name) if name not in describe.surfaces_by_name() else find_surface(name)[1]
    backend = describe.surfaces_by_name()[surface.name][0]
    return AuditTarget(surface, RunTarget(backend.name, python or sys.executable))


def _parse_inputs(texts: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    """Parse NAME=1x3x224x224 or 1x3x224x224."""
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, _, shape = text.rpartition("=")
        extents = tuple(map(int, shape.split("x"))) if SHAPE_PATTERN.fullmatch(shape) else ()
        if not 1 <= len(extents) <= MAX_AXES or not all(1 <= extent <= MAX_INPUT_EXTENT for extent in extents):
            raise ConformanceError(f"--input {text[:60]}: is not [NAME=]SHAPE with a shape such as 1x3x224x224")
        if name in found:
            raise ConformanceError(f"--input {name}: given twice")
        found[name] = extents
    return found


@click.command("audit")
@click.argument("model", metavar="MODEL")
@click.option(
    "--target",
    "targets",
    multiple=True,
    required=True,
    metavar="SURFACE[=PYTHON]",
    help="Surface or framework on which the layers are checked, with the interpreter that has it. Repeatable.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="[NAME=]SHAPE",
    help="Shape of an input of the model, such as 1x3x224x224. Repeatable.",
)
@click.option(
    "--reader",
    metavar="NAME[=PYTHON]",
    help="Framework that reads the model, with the interpreter that has it. "
    "[default: by the ending of the file, or by the class of the model that the function returns]",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice([*FORMATS]),
    default="terminal",
    show_default=True,
    help="Output format.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to this file.")
@click.option("--fix", is_flag=True, help="Also print the programs that replace layers which are not one call.")
@timeout_option(DEFAULT_TIMEOUT_SECONDS)
def audit_command(
    model: str,
    *,
    targets: tuple[str, ...],
    inputs: tuple[str, ...],
    reader: str | None,
    output_format: str,
    output: Path | None,
    fix: bool,
    timeout: float,
) -> None:
    """Check the layers of a model on the targets of a port.

    MODEL is a file or a folder, or a reference package.module:function to a Python function that returns a model. A
    file is read with the library of its format and never run. A function is run, in a process of its own. The guide
    "Audit a model" lists the formats.

    Each layer is run on each target with integers, negative numbers, NaN, infinities, full mantissas and the weights of
    the model, and compared with the reference.

    Exit status: 0 every layer agrees, or differs as known; 1 a difference is not explained, or a target has no such
    layer; 2 wrong usage or a model that cannot be read; 3 a backend cannot be started.

    Example: conformance audit model.onnx --target numpy.loops
    """
    chosen = _distinct([parse_target(text) for text in targets])
    shapes = _parse_inputs(inputs)
    found_reader, python = find_reader(model, reader)
    read = read_model(ModelSource(model, found_reader, python, shapes), READ_SECONDS)
    audit = run_audit(read, chosen, timeout)
    lines = list(FORMATS[output_format](audit))
    if fix and output_format == "html":
        raise ConformanceError("--fix: not with --format html")
    if fix:
        width = line_width(TERMINAL_WIDTH)
        lines += rewrite_lines(audit, [(one.backend, one.surface) for one in chosen], width)
    if output:
        write_in_folder(output, "\n".join(lines) + "\n")
    else:
        click.echo("\n".join(lines))
    if not audit.passes:
        sys.exit(DIFFERENCE_EXIT_STATUS)


def _distinct(targets: Sequence[AuditTarget]) -> Sequence[AuditTarget]:
    names = [one.surface.name for one in targets]
    for name in names:
        if names.count(name) > 1:
            raise ConformanceError(f"--target {name}: given twice")
    return targets


def run_audit(model: Model, targets: Sequence[AuditTarget], timeout: float) -> Audit:
    """Return the audit of a model. Surfaces of one backend and interpreter share a process."""
    layers = questions_of_model(model)
    source = describe.surfaces_by_name().get(model.surface)
    verdicts: list[dict[str, TargetVerdict]] = [{} for _ in layers]
    versions: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for run, surfaces in _by_backend(targets).items():
        started = time.monotonic()
        names = [surface.name for surface in surfaces]
        limits = Limits(timeout)
        try:
            with LocalEvaluator(run.backend, run.python, run.ledger(), surfaces=names, limits=limits) as evaluator:
                found = audit_backend(evaluator, layers, source[1] if source else None)
                packages = evaluator.pool.environment["packages"]
        except IncompleteRun as error:
            raise IncompleteRun(run.with_install_hint(str(error))) from None
        for own, added, questions in zip(verdicts, found, layers, strict=True):
            own |= {surface.name: _with_reason(added[surface.name], questions, surface) for surface in surfaces}
        first = run.backend.packages[0]
        versions |= dict.fromkeys(names, f"{first} {packages.get(first, '')}".strip())
        seconds |= dict.fromkeys(names, time.monotonic() - started)
    audited = (
        AuditedLayer(one.layers, one.checked, one.problem, found) for one, found in zip(layers, verdicts, strict=True)
    )
    return Audit(model, tuple(one.surface.name for one in targets), tuple(audited), versions, seconds)


def _by_backend(targets: Sequence[AuditTarget]) -> Mapping[RunTarget, Sequence[Surface]]:
    groups: dict[RunTarget, list[Surface]] = {}
    for one in targets:
        groups.setdefault(one.run, []).append(one.surface)
    return groups


def _with_reason(verdict: TargetVerdict, questions: LayerQuestions, surface: Surface) -> TargetVerdict:
    if verdict.verdict is not LayerVerdict.REWRITE:
        return verdict
    return replace(verdict, reason=rewrite_reason(questions, surface))
