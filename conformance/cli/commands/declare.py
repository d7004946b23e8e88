"""`conformance declare`: write the answers that a run observed into the declarations of a backend."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import CPU, Backend, without_label
from conformance.cli.lookup import matches_any_glob
from conformance.cli.options import SURFACE_GLOB_OPTION
from conformance.cli.results_io import load_given_or_latest
from conformance.judging.declaration_draft import DeclarationsFile, ObservedDeclaration, declarations_text
from reports.analysis.summary import count_text
from reports.results import BackendRun, RecordedAnswers, Report

UNKNOWN_VERSION = "unknown"
"""Version of a package without `__version__` and metadata, in results files."""


@dataclass(frozen=True)
class UndeclaredAnswers:
    """The answers of one backend that its surfaces do not declare; notes: why some answers cannot be declared."""

    backend: Backend
    declarations: Sequence[ObservedDeclaration]
    notes: Sequence[str]


@click.command("declare")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@SURFACE_GLOB_OPTION
@click.option("--write", is_flag=True, help="Add the answers to the YAML file of the adapter.")
def declare(results: tuple[Path, ...], surface_globs: tuple[str, ...], write: bool) -> None:
    """Print answers of a run that are not declared.

    A convention is a point on which the documents of frameworks differ. A surface declares its answer in the file
    `<backend>.yaml` in the folder of its adapter. This command prints the missing answers in the format of that file;
    with --write it adds them, and never changes an answer that the file contains. Review the answers: one that a
    document of the framework contradicts is a bug. Without RESULTS, all files of build/conformance/results are read.

    Example: conformance declare build/conformance/results/numpy.jsonl --surface 'numpy.*'
    """
    report = load_given_or_latest(results)
    _check_surfaces(report, surface_globs)
    found = [_observed_answers(run, surface_globs) for run in report.backends]
    for one in found:
        _print_answers(one, write=write)
    if not any(one.declarations for one in found):
        click.echo("no further answer can be declared from these results", err=True)


def _check_surfaces(report: Report, globs: Sequence[str]) -> None:
    """Raise ConformanceError for a pattern that no surface of the results matches."""
    surfaces = [without_label(surface) for run in report.backends for surface in run.header.surfaces]
    for glob in globs:
        if not any(matches_any_glob(surface, [glob]) for surface in surfaces):
            raise ConformanceError(f"surface {glob!r}: not in these results, which have {', '.join(surfaces)}")


def _observed_answers(run: BackendRun, globs: Sequence[str]) -> UndeclaredAnswers:
    """Return the answers of a run that are not declared. Raises ConformanceError for a run on another device."""
    backend = registry.get_backend(without_label(run.name))
    device = run.header.environment.device
    if device != CPU:
        raise ConformanceError(f"backend {run.name}: it ran on {device}; answers are declared from a run on the {CPU}")
    known = {surface.name: surface for surface in backend.surfaces}
    answers: dict[tuple[str, str], _Answers] = {}
    for record in run.conventions:
        surface = without_label(record.surface)
        if surface not in known:
            raise ConformanceError(f"surface {surface!r}: in the results, but not a surface of {backend.name} now")
        is_selected = not globs or matches_any_glob(surface, globs)
        if is_selected and record.observed is not None and record.question not in known[surface].declarations:
            named = run.cases[record.case].expected
            one = answers.setdefault((surface, record.question), _Answers(_names(named)))
            one.cases.setdefault(record.observed, record.case)
    version = _version(run, backend)
    declarations = [
        ObservedDeclaration(*key, next(iter(one.cases)), version) for key, one in answers.items() if not one.problem
    ]
    notes = [f"{surface} {question}: {one.problem}" for (surface, question), one in answers.items() if one.problem]
    return UndeclaredAnswers(backend, declarations, notes)


@dataclass(frozen=True)
class _Answers:
    """The answers of a surface to one convention: the first case of each. named: the answers of the convention."""

    named: Collection[str]
    cases: dict[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        """Why there is no answer to declare; "" if there is one."""
        texts = [f"{answer!r} in {case}" for answer, case in self.cases.items()]
        if len(texts) > 1:
            return f"the surface contradicts itself: {', '.join(texts)}"
        return "" if self.cases.keys() <= {*self.named} else f"{texts[0]} is not an answer that can be declared"


def _names(expected: object) -> Collection[str]:
    return expected.answers.keys() if isinstance(expected, RecordedAnswers) else ()


def _version(run: BackendRun, backend: Backend) -> str:
    """Return the version of the framework. Raises ConformanceError if the results do not have it."""
    packages = run.header.environment.packages
    version = run.version or next((packages[name] for name in backend.packages if name in packages), UNKNOWN_VERSION)
    if version == UNKNOWN_VERSION:
        name = next(iter(backend.packages), backend.name)
        raise ConformanceError(
            f"backend {run.name}: the version of {name} is not in the results; give the module a __version__"
        )
    return version


def _print_answers(found: UndeclaredAnswers, *, write: bool) -> None:
    """Print the answers of a backend, with --write after adding them to its file, and the notes."""
    if found.declarations:
        file = DeclarationsFile(_file_of(found.backend))
        new = [one for one in found.declarations if not file.has_key(one.surface, one.convention)]
        if write and new:
            file.write(file.with_answers(new), found.backend)
        click.echo(declarations_text(new), nl=False)
        click.echo(_outcome_text(len(new), file.path, write=write), err=True)
    for note in found.notes:
        click.echo(f"left out: {note}", err=True)


def _outcome_text(count: int, path: Path, *, write: bool) -> str:
    answers = count_text(count, "answer")
    return f"{answers} added to {path}; review them" if write else f"{answers} for {path}; --write adds them"


def _file_of(backend: Backend) -> Path:
    """Return the declarations file of a backend. Raises ConformanceError if its adapter has no folder."""
    path = registry.declarations_path(backend.name)
    if path is None:
        raise ConformanceError(
            f"backend {backend.name}: its adapter is a single file, and declarations are in the folder of a package: "
            f"make it a folder with an __init__.py"
        )
    return path
