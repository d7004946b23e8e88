"""`conformance watch`: compare a nightly run with the previous one, and write an issue text for each new failure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.adapters.api import Program
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.cli.lookup import find_surface
from conformance.cli.options import DEFAULT_OUTPUT_FOLDER
from conformance.cli.results_io import FAILED_EXIT_STATUS, INCOMPLETE_EXIT_STATUS, load_results, write_output
from conformance.judging.expected import compute_expected
from conformance.translation.lowering import translate
from conformance.translation.repro import repro_script
from reports.analysis.nightly.history import History
from reports.analysis.nightly.night import Announcement, compare_nights
from reports.results import RecordError, Report, without_label
from reports.results.files import open_regular
from reports.views.night_markdown import issue_text, night_headline, summary_page

RESULTS_FOLDERS = ("results", "explored/results")
HISTORY_FILE, SUMMARY_FILE, ISSUES_FOLDER, ISSUE_LIST_FILE = "seen.json", "summary.md", "issues", "issues.json"


@click.command("watch")
@click.argument("tonight", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option(
    "--against",
    "last",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="LAST",
    help="Folder of the previous nightly run. Its seen.json, if there is one, lists what was reported before. Without "
    "this option, every unexpected result is new.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_OUTPUT_FOLDER / "watch",
    show_default=True,
    metavar="DIR",
    help="Output folder for the summary, the issue texts and seen.json, which the next nightly run reads.",
)
def watch_command(tonight: Path, last: Path | None, out: Path) -> None:
    """Compare a nightly run with the previous one.

    New, fixed and changed failures and new findings are listed. TONIGHT is a folder like build/conformance, with
    results/ of `conformance run`, explored/ of `conformance explore`, or both. Each new item is listed with its likely
    cause: other versions, another version of the suite, another machine, other generated cases, or flakiness. A finding
    that matches one of an earlier night is not reported again.

    Exit status: 0 nothing new; 1 new items; 2 wrong usage; 3 a nightly run is incomplete or has no results.

    Example: conformance watch build/conformance --against build/last --out build/watch
    """
    night = compare_nights(_load_night(tonight), _load_previous_night(last) if last else None, _load_history(last))
    # seen.json is written last: a night that is interrupted before reports the same news again.
    for one in night.announcements:
        write_output(out / ISSUES_FOLDER / f"{one.key}.md", issue_text(one, _case_script))
    write_output(out / ISSUE_LIST_FILE, json.dumps([_new_issues(one) for one in night.announcements], indent=1) + "\n")
    write_output(out / SUMMARY_FILE, summary_page(night))
    write_output(out / HISTORY_FILE, night.history.to_json())
    for problem in night.problems:
        click.echo(problem, err=True)
    for one in night.announcements:
        click.echo(f"{one.cause.label}: {one.title}")
    click.echo(f"{night_headline(night)}: {out / SUMMARY_FILE}")
    sys.exit(INCOMPLETE_EXIT_STATUS if night.problems else FAILED_EXIT_STATUS if night.has_changes else 0)


def _new_issues(news: Announcement) -> dict[str, str]:
    """Return the entry of an announcement in the list of issues, which .ci/open_issues.py reads."""
    return {"key": news.key, "why": news.cause.kind, "title": news.title, "file": f"{ISSUES_FOLDER}/{news.key}.md"}


def _load_night(folder: Path) -> Report:
    """Read the results of a nightly run. Raises IncompleteRun if there are none."""
    files = _results_files(folder)
    if not files:
        raise IncompleteRun(f"no results in {folder}, neither in {' nor in '.join(RESULTS_FOLDERS)}")
    return load_results(files, mixed=True)


def _load_previous_night(folder: Path) -> Report | None:
    """Read the results of the previous nightly run; None if only its seen.json is left, as CI deletes old results."""
    return None if (folder / HISTORY_FILE).exists() and not _results_files(folder) else _load_night(folder)


def _results_files(folder: Path) -> list[Path]:
    return [path for part in RESULTS_FOLDERS for path in sorted((folder / part).glob("*.jsonl"))]


def _load_history(last: Path | None) -> History:
    path = last / HISTORY_FILE if last else None
    if path is None or not path.exists():
        return History()
    try:
        with open_regular(path) as file:
            return History.parse(file.read().decode("utf-8"))
    except (OSError, UnicodeDecodeError, RecordError) as error:
        raise ConformanceError(f"{path}: {error}") from None


def _case_script(case: str, surface: str) -> str:
    """Return a script for a case; an empty string if the catalogue lacks the case or no backend has the surface."""
    found = _catalogue_cases().get(case)
    if found is None:
        return ""
    try:
        backend = find_surface(without_label(surface))[0]
    except ConformanceError:
        return ""
    program = translate(found, next(one for one in backend.surfaces if one.name == without_label(surface)))
    return repro_script(found, compute_expected(found), backend, program) if isinstance(program, Program) else ""


@cache
def _catalogue_cases() -> Mapping[str, Case]:
    return loading.load_catalogue().by_id
