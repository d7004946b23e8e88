"""Code blocks of the documentation: they are run, and their output is compared with the block below them."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest
import yaml
from markdown_it import MarkdownIt

from tests import ROOT

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

TRANSLATIONS = ROOT / "docs" / "translations"  # generated; .ci/stand_alone.py runs programs of this form
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if TRANSLATIONS not in path.parents),
]
FROM_NOTHING = [path for path in PAGES if path.name == "tutorial.md" or path.parent.name == "how-to"]
COMMANDS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
PARSERS = {"yaml": yaml.safe_load, "toml": tomllib.loads, "json": json.loads}
PROGRESS = re.compile(r"^[\w@.-]+: [\d,]+ of [\d,]+, .* left\n", re.MULTILINE)
"""Progress lines of a run, which a slow machine prints every few seconds."""
NOT_RUN = re.compile(r"<!-- not run: (?P<why>.+) -->\s*")


@dataclass(frozen=True)
class Block:
    """A code block: position, language, file to write it to, reason for not running it, and expected output."""

    place: str
    language: str
    text: str
    file: str | None
    why_not: str | None
    output: str | None


def blocks(path):
    """Return the code blocks of a page, without blocks of output."""
    everything = [None, *MarkdownIt().parse(path.read_text("utf-8")), None]
    found = []
    for before, token, after in zip(everything, everything[1:], everything[2:], strict=False):
        if token is None or token.type != "fence" or not token.info or token.info == "text":
            continue
        language, _, rest = token.info.partition(" ")
        comment = NOT_RUN.fullmatch(before.content) if before is not None and before.type == "html_block" else None
        has_output = after is not None and after.type == "fence" and after.info == "text"
        file = re.fullmatch(r'title="([\w.]+)"', rest)
        found.append(
            Block(
                f"{path.name}:{token.map[0] + 1}", language, token.content, file and file[1],
                comment and comment["why"], after.content if has_output else None,
            )
        )  # fmt: skip
    return found


def matches(printed, expected):
    """Whether output matches a block; an ellipsis alone on a line matches any lines, elsewhere any characters."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") for line in expected.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == ".*" else f"{line}\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())) is not None


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A folder with results of an earlier run, which most pages need."""
    folder = tmp_path_factory.mktemp("results")
    run(folder, "sh", "conformance run --backend numpy --operator min_pool")
    return folder


def run(folder, language, text):
    """Run a block in a folder with this Python and its `conformance`; return its output, including errors."""
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    for name, command in (("conformance", "-m conformance.cli "), ("python", ""), ("pytest", "-m pytest ")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command}"$@"\n', "utf-8")
        (tools / name).chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    done = subprocess.run(
        [*COMMANDS[language], text], cwd=folder, check=False, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return PROGRESS.sub("", done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_run_and_print_the_documented_output(page, request, tmp_path):
    if page not in FROM_NOTHING:
        shutil.copytree(request.getfixturevalue("results"), tmp_path, dirs_exist_ok=True)
    for block in blocks(page):
        if block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
        if block.language in PARSERS:
            PARSERS[block.language](block.text)
        elif not block.why_not:
            printed = run(tmp_path, block.language, block.text)
            assert block.output is None or matches(printed, block.output), f"{block.place} prints\n{printed}"


def test_every_block_has_a_language_that_is_checked():
    languages = {block.language for page in PAGES for block in blocks(page)}
    assert languages <= {*COMMANDS, *PARSERS}


def test_tutorial_runs_all_blocks_except_installations():
    found = [block for block in blocks(ROOT / "docs" / "tutorial.md") if block.language == "sh"]
    assert [block.why_not for block in found if block.why_not] == [
        "fetches the project and what it needs", "needs a framework",
    ]  # fmt: skip
    assert sum(block.output is not None for block in found) >= 7


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("a\nb \n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\nb\nc\n", "…\nc\n", True),
        ("c\n", "…\nc\n", True),
        ("a\nb\nc\n", "a\n…\n", True),
        ("took 3 s\n", "took … s\n", True),
        ("took 3 s\nmore\n", "took … s\n", False),
        ("a.c\n", "abc\n", False),
        ("abc\n", "a.c\n", False),
    ],
)
def test_ellipsis_matches_any_output(printed, expected, same):
    assert matches(printed, expected) == same


def test_progress_lines_are_removed_from_the_output(tmp_path):
    printed = run(tmp_path, "sh", "echo 'numpy: 25 of 1,026, 5.0/s, 22 pass, 3 known, 0 s left'; echo 25 of 26, left")
    assert printed == "25 of 26, left\n"


def test_block_that_fails_is_an_error(tmp_path):
    with pytest.raises(AssertionError, match="unknown, known are"):
        run(tmp_path, "sh", "conformance run --backend nope")
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 1\n```\n\n```text\n2\n```\n\n<!-- not run: why -->\n```sh\nfalse\n```\n", "utf-8")
    first, second = blocks(page)
    assert (first.output, first.why_not, second.why_not) == ("2\n", None, "why")
