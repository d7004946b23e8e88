"""`conformance watch`: what a night has brought since the one before, and an issue text for each thing that is new."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.adapters.api.surface import Program
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.cli.lookup import find_surface
from conformance.cli.options import OUT
from conformance.cli.results_io import FAILED, INCOMPLETE, load, write
from conformance.judging.expected import expected
from conformance.translation.lowering import translate
from conformance.translation.repro import script
from reports.analysis.history import Memory
from reports.analysis.night import News, watch
from reports.results.fields import RecordError
from reports.results.reader import Report
from reports.results.records import plain
from reports.views.night_markdown import headline, issue, summary_page

PARTS = ("results", "explored/results")
SEEN, SUMMARY, ISSUES, LIST = "seen.json", "summary.md", "issues", "issues.json"


@click.command("watch")
@click.argument("tonight", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option(
    "--against",
    "last",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="LAST",
    help="The night before, a folder alike; with what that night told, if its seen.json is there. Without it all that "
    "is not as it should be is new.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=OUT / "watch",
    show_default=True,
    metavar="DIR",
    help="Where the summary, the issue texts and what the next night must know go.",
)
def watch_command(tonight: Path, last: Path | None, out: Path) -> None:
    """Tell a night from the one before: new differences and findings, what is gone, values that changed.

    A night is a folder as build/conformance is: results/ of `conformance run` and explored/ of `conformance explore`,
    either of the two or both. Each thing that is new is told with what may be the reason: other versions, another suite
    or machine, other cases drawn, or that it flickers. A finding that cannot be told from one of an earlier night is
    not told again.

    Exit status: 0 nothing new; 1 something is; 2 wrong usage; 3 a night is not whole, or there is nothing in it.

    Example: conformance watch build/conformance --against build/last --out build/watch
    """
    night = watch(_night(tonight), _last(last) if last else None, _memory(last))
    for one in night.news:
        write(out / ISSUES / f"{one.key}.md", issue(one, _script))
    write(out / LIST, json.dumps([_listed(one) for one in night.news], indent=1) + "\n")
    write(out / SUMMARY, summary_page(night))
    write(out / SEEN, night.memory.text())
    for problem in night.problems:
        click.echo(problem, err=True)
    for one in night.news:
        click.echo(f"{one.blame.word}: {one.title}")
    click.echo(f"{headline(night)}: {out / SUMMARY}")
    sys.exit(INCOMPLETE if night.problems else FAILED if night.new else 0)


def _listed(news: News) -> dict[str, str]:
    """Return what a program needs to open an issue that is not open yet."""
    return {"key": news.key, "why": news.blame.kind, "title": news.title, "file": f"{ISSUES}/{news.key}.md"}


def _night(folder: Path) -> Report:
    """Read what a night has left. Raises IncompleteRun if that is nothing."""
    files = _files(folder)
    if not files:
        raise IncompleteRun(f"no results in {folder}, neither in {' nor in '.join(PARTS)}")
    return load(files, mixed=True)


def _last(folder: Path) -> Report | None:
    """Read what the night before has left; None where that is only what it told, for files are not kept for ever."""
    return None if (folder / SEEN).exists() and not _files(folder) else _night(folder)


def _files(folder: Path) -> list[Path]:
    return [path for part in PARTS for path in sorted((folder / part).glob("*.jsonl"))]


def _memory(last: Path | None) -> Memory:
    path = last / SEEN if last else None
    if path is None or not path.exists():
        return Memory()
    try:
        return Memory.parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, RecordError) as error:
        raise ConformanceError(f"{path}: {error}") from None


def _script(case: str, surface: str) -> str:
    """Return a script for a case of the suite's catalogue; "" where the case or the surface is not here."""
    found = _cases().get(case)
    if found is None:
        return ""
    try:
        backend = find_surface(plain(surface))[0]
    except ConformanceError:
        return ""
    program = translate(found, next(one for one in backend.surfaces if one.name == plain(surface)))
    return script(found, expected(found), backend, program) if isinstance(program, Program) else ""


@cache
def _cases() -> Mapping[str, Case]:
    return loading.load().by_id
