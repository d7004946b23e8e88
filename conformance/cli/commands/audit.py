"""`conformance audit`: check every layer with windows of a model on other surfaces."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.adapters.api import Backend, Surface
from conformance.catalogue import describe
from conformance.cli.console import line_width, print_text
from conformance.cli.lookup import find_framework_surface, find_surface
from conformance.cli.options import NO_PROGRESS_OPTION, timeout_option
from conformance.cli.parameter_types import parse_input_shapes
from conformance.cli.progress import phase_progress
from conformance.execution.job import Limits
from conformance.execution.targets import RunTarget, ledger_for
from conformance.exploration.evaluation import LocalEvaluator
from conformance.judging.ledger import Ledger
from conformance.models.audit import audit_backend, questions_of_model
from conformance.models.layer import Model
from conformance.models.reading import READ_SECONDS, parse_source, read_model
from conformance.models.records import audit_record
from conformance.models.report import TERMINAL_WIDTH, WRITERS
from conformance.models.rewrites import Programs, rewrite_programs, rewrite_reason
from conformance.models.source_framework import SourceFramework, source_framework
from conformance.models.verdicts import Audit, LayerQuestions, TargetVerdict
from conformance.system.atomic_write import write_in_folder
from reports.results.audits import LayerVerdict
from reports.results.vocabulary import How

PROGRAM_WIDTH = 100
"""Width of the comments of programs."""
DEFAULT_SHRINK_SECONDS = 30.0
MAX_SHRINK_SECONDS = 86_400.0
DIFFERENCE_EXIT_STATUS = 1
DEFAULT_TIMEOUT_SECONDS = 60.0


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
    "[default: by the suffix of the file, or by the class of the model that the function returns]",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice([*WRITERS]),
    default="terminal",
    show_default=True,
    help="Output format.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to this file.")
@click.option("--fix", is_flag=True, help="Also write a program for each layer that is not the same call on a target.")
@click.option(
    "--full-programs",
    is_flag=True,
    help="With --fix, if a converter writes the models of a target: write the whole programs, not only the changes of "
    "the source model.",
)
@click.option(
    "--shrink-seconds",
    type=click.FloatRange(0, MAX_SHRINK_SECONDS),
    default=DEFAULT_SHRINK_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of the search for the smallest inputs, for each target; 0 for no search. Differences share it "
    "equally. Programs that run when the time is over are finished.",
)
@timeout_option(DEFAULT_TIMEOUT_SECONDS)
@NO_PROGRESS_OPTION
def audit_command(
    model: str,
    *,
    targets: tuple[str, ...],
    inputs: tuple[str, ...],
    reader: str | None,
    output_format: str,
    output: Path | None,
    fix: bool,
    full_programs: bool,
    shrink_seconds: float,
    timeout: float,
    quiet: bool,
) -> None:
    """Check the layers of a model on the targets of a port.

    MODEL is a file or a folder of a model, or BACKEND:FILE.py:FACTORY or BACKEND:MODULE:FACTORY, where FACTORY is a
    function that returns the model. Without BACKEND, the class of the model chooses the reader. A file is read with the
    library of its format and never run. FACTORY is called in a separate process. The guide "Audit a model" lists the
    formats.

    Each layer is run on each target with integers, negative numbers, NaN, infinities, full mantissas and the weights of
    the model, and compared with the reference. For each difference, the command searches for the smallest input that
    shows it.

    Exit status: 0 every layer agrees, or differs as known; 1 a difference is not explained, or a target has no such
    layer; 2 wrong usage or a model that cannot be read; 3 a backend cannot be started.

    Example: conformance audit model.onnx --target numpy.loops
    """
    if full_programs and not fix:
        raise ConformanceError("--full-programs: needs --fix")
    chosen = _distinct([parse_target(text) for text in targets])
    source = parse_source(model, reader, parse_input_shapes(inputs))
    width = line_width(TERMINAL_WIDTH)
    with phase_progress(is_quiet=quiet) as progress:
        progress(f"reading {model}")
        read = read_model(source, READ_SECONDS)
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        audit = run_audit(read, chosen, timeout, shrink_seconds, progress)
        programs: Programs = {}
        if fix:
            progress("writing programs")
            surfaces = [(one.backend, one.surface) for one in chosen]
            own = surface_of_model(read)
            programs = rewrite_programs(audit, surfaces, own, PROGRAM_WIDTH, with_graphs=full_programs)
    lines = list(WRITERS[output_format](audit_record(audit, started, programs), width))
    if output:
        write_in_folder(output, "\n".join(lines) + "\n")
    else:
        # JSON and HTML have escapes of their own.
        (print_text if output_format in {"terminal", "markdown"} else click.echo)("\n".join(lines))
    if not audit.passes:
        sys.exit(DIFFERENCE_EXIT_STATUS)


def _distinct(targets: Sequence[AuditTarget]) -> Sequence[AuditTarget]:
    names = [one.surface.name for one in targets]
    for name in names:
        if names.count(name) > 1:
            raise ConformanceError(f"--target {name}: given twice")
    return targets


def surface_of_model(model: Model) -> Surface | None:
    """Return the surface whose answers to conventions apply to a model, None if it is not known."""
    found = describe.surfaces_by_name().get(model.surface)
    return found[1] if found else None


def _framework_of(model: Model) -> SourceFramework | None:
    """Return the framework of a model with its known deviations, None if it is not known."""
    found = describe.surfaces_by_name().get(model.surface)
    if found is None:
        return None
    backend, surface = found
    return source_framework(surface, ledger_for(backend) if model.is_run else Ledger(), model.versions)


def run_audit(
    model: Model,
    targets: Sequence[AuditTarget],
    timeout: float,
    shrink_seconds: float = 0.0,
    progress: Callable[[str], None] = lambda _text: None,
) -> Audit:
    """Return the audit of a model. Surfaces of one backend and interpreter share a process."""
    layers, source = questions_of_model(model), _framework_of(model)
    verdicts: list[dict[str, TargetVerdict]] = [{} for _ in layers]
    versions: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for run, surfaces in _by_backend(targets).items():
        started = time.monotonic()
        names = [surface.name for surface in surfaces]
        progress(f"{', '.join(names)}: starting")
        limits = Limits(timeout)
        try:
            with LocalEvaluator(run.backend, run.python, run.ledger(), surfaces=names, limits=limits) as evaluator:
                found = audit_backend(evaluator, layers, source, shrink_seconds, progress)
                packages = evaluator.pool.environment["packages"]
        except IncompleteRun as error:
            raise IncompleteRun(run.with_install_hint(str(error))) from None
        for own, added, questions in zip(verdicts, found, layers, strict=True):
            own |= {surface.name: _with_reason(added[surface.name], questions, surface) for surface in surfaces}
        first = run.backend.packages[0]
        versions |= dict.fromkeys(names, f"{first} {packages.get(first, '')}".strip())
        seconds |= dict.fromkeys(names, time.monotonic() - started)
    audited = (one.audited(found) for one, found in zip(layers, verdicts, strict=True))
    return Audit(model, tuple(one.surface.name for one in targets), tuple(audited), versions, seconds)


def _by_backend(targets: Sequence[AuditTarget]) -> Mapping[RunTarget, Sequence[Surface]]:
    groups: dict[RunTarget, list[Surface]] = {}
    for one in targets:
        groups.setdefault(one.run, []).append(one.surface)
    return groups


def _with_reason(verdict: TargetVerdict, questions: LayerQuestions, surface: Surface) -> TargetVerdict:
    is_known_rewrite = verdict.verdict is LayerVerdict.EXPLAINED and verdict.how != How.NATIVE
    if verdict.verdict is not LayerVerdict.REWRITE and not is_known_rewrite:
        return verdict
    return replace(verdict, reason=rewrite_reason(questions, surface))
