"""Hooks of mkdocs: add generated pages and the report of the last run, and link to source files."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath

import tomllib
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from conformance.cases.operators import drawing_properties
from conformance.catalogue.loading import load_catalogue
from conformance.cli.answer_releases import releases_by_surface
from conformance.judging.conventions import processor_answers
from docs.generate.pages import generated_pages
from reports.analysis import summary
from reports.results import Report, load_report
from reports.views.badges import render_badges
from reports.views.html import render_html
from reports.views.junit import render_junit
from reports.views.markdown_layout import code_span, escape_markdown, table_lines

ROOT = Path(__file__).parent.parent
RESULTS = Path(os.environ.get("CONFORMANCE_RESULTS", ROOT / "build" / "conformance" / "results"))
SOURCE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
FOLDER = "last-run"
HEADING = "# The last run\n\n"
NO_RESULTS_PAGE = f"""{HEADING}This copy of the documentation was built without results, so it has no report.

```sh
conformance run
python -m tox run -e docs
```

builds the documentation with a report of the results in `build/conformance/results`.
"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages and the page of the last run; with results, also its report, badges and JUnit XML."""
    paths = sorted(RESULTS.glob("*.jsonl"))
    last_run = dict(_last_run_files(load_report(paths))) if paths else {f"{FOLDER}.md": NO_RESULTS_PAGE}
    for name, content in {**generated_pages(load_catalogue()), **last_run}.items():
        # The index of translations in the repository links only the pages there; the site has all of them.
        committed = files.get_file_from_path(name)
        if committed is not None:
            files.remove(committed)
        files.append(File.generated(config, name, content=content))
    return files


def _last_run_files(report: Report) -> Iterator[tuple[str, str]]:
    badges = {name: text for name, text in render_badges(report).items() if name.endswith(".svg")}
    yield from ((f"{FOLDER}/{name}", text) for name, text in badges.items())
    yield (
        f"{FOLDER}/report.html",
        render_html(
            report,
            operators=drawing_properties(),
            processor_answers=processor_answers(report.surfaces),
            releases=releases_by_surface(report.surfaces),
        ),
    )
    yield f"{FOLDER}/junit.xml", render_junit(report)
    yield f"{FOLDER}.md", "\n".join([HEADING, *_page(report, list(badges))])


def _page(report: Report, badges: list[str]) -> Iterator[str]:
    verdict = summary.report_verdict(report)
    sign = "✅" if verdict.is_good else "❌"
    yield f"**{sign} {escape_markdown(verdict.headline)}.** {escape_markdown(verdict.sentence)}"
    yield ""
    problems = summary.report_problems(report)
    yield from (*(f"- ❌ {escape_markdown(problem)}" for problem in problems), "") if problems else ()
    yield f"[Open the report]({FOLDER}/report.html){{ .md-button .md-button--primary }} [JUnit XML]({FOLDER}/junit.xml)"
    yield ""
    surfaces = [(backend, surface) for backend in report.backends for surface in backend.header.surfaces]
    rows = [
        [
            escape_markdown(f"{backend.name} {backend.version or ''}"),
            code_span(surface),
            f"![{escape_markdown(surface)}]({FOLDER}/{badge})",
        ]
        for (backend, surface), badge in zip(surfaces, badges, strict=True)
    ]
    yield from table_lines(["backend", "surface", "results"], rows)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Redirect links to files of the project that are not pages of the site to the source on the forge."""
    folder = PurePosixPath(page.file.src_uri).parent

    def redirected(link: re.Match[str]) -> str:
        target, mark, anchor = link["target"].partition("#")
        inside = normpath(folder / target)
        path = (Path(config.docs_dir) / inside).resolve()
        if not target or files.get_file_from_path(inside) or not path.exists():
            return link[0]
        return f"]({SOURCE}/blob/main/{path.relative_to(ROOT).as_posix()}{mark}{anchor})"

    return re.sub(r"\]\((?P<target>[^)\s:]+)\)", redirected, markdown)
