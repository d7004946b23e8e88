"""Blocks of code in the documentation are run word for word, and print what stands below them."""

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

TRANSLATIONS = ROOT / "docs" / "translations"  # generated, and run by a script of its own
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if TRANSLATIONS not in path.parents),
]
FROM_NOTHING = [path for path in PAGES if path.name == "tutorial.md" or path.parent.name == "how-to"]
COMMANDS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
PARSERS = {"yaml": yaml.safe_load, "toml": tomllib.loads, "json": json.loads}
PROGRESS = re.compile(r"^[\w@.-]+: [\d,]+ of [\d,]+, .* left\n", re.MULTILINE)
"""What a run says every few seconds, on a machine that takes that long."""
NOT_RUN = re.compile(r"<!-- not run: (?P<why>.+) -->\s*")


@dataclass(frozen=True)
class Block:
    """A block of code: where it stands, its language, the file that it is, why it is not run, what it must print."""

    place: str
    language: str
    text: str
    file: str | None
    why_not: str | None
    output: str | None


def blocks(path):
    """Return the blocks of a page that have a language and are no output."""
    everything = [None, *MarkdownIt().parse(path.read_text("utf-8")), None]
    found = []
    for before, token, after in zip(everything, everything[1:], everything[2:], strict=False):
        if token is None or token.type != "fence" or not token.info or token.info == "text":
            continue
        language, _, rest = token.info.partition(" ")
        comment = NOT_RUN.fullmatch(before.content) if before is not None and before.type == "html_block" else None
        told = after is not None and after.type == "fence" and after.info == "text"
        file = re.fullmatch(r'title="([\w.]+)"', rest)
        found.append(
            Block(
                f"{path.name}:{token.map[0] + 1}", language, token.content, file and file[1],
                comment and comment["why"], after.content if told else None,
            )
        )  # fmt: skip
    return found


def matches(printed, told):
    """Whether a text is what a page says; an ellipsis alone on a line stands for any lines, elsewhere for anything."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") for line in told.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == ".*" else f"{line}\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())) is not None


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A folder in which something was run already, as most pages take for granted."""
    folder = tmp_path_factory.mktemp("results")
    run(folder, "sh", "conformance run --backend numpy --operator min_pool")
    return folder


def run(folder, language, text):
    """Run a block in a folder, with this Python and its `conformance`; return what it prints, errors included."""
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
def test_blocks_do_and_print_what_the_page_says(page, request, tmp_path):
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


def test_no_block_is_of_a_language_that_nothing_here_reads():
    languages = {block.language for page in PAGES for block in blocks(page)}
    assert languages <= {*COMMANDS, *PARSERS}


def test_tutorial_runs_all_but_what_fetches_something():
    found = [block for block in blocks(ROOT / "docs" / "tutorial.md") if block.language == "sh"]
    assert [block.why_not for block in found if block.why_not] == [
        "fetches the project and what it needs", "needs a framework",
    ]  # fmt: skip
    assert sum(block.output is not None for block in found) >= 7


@pytest.mark.parametrize(
    ("printed", "told", "same"),
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
def test_ellipsis_stands_for_what_is_not_the_same_everywhere(printed, told, same):
    assert matches(printed, told) == same


def test_progress_of_a_slow_machine_is_no_part_of_what_is_printed(tmp_path):
    printed = run(tmp_path, "sh", "echo 'numpy: 25 of 1,026, 5.0/s, 22 pass, 3 known, 0 s left'; echo 25 of 26, left")
    assert printed == "25 of 26, left\n"


def test_block_that_fails_or_prints_something_else_is_told(tmp_path):
    with pytest.raises(AssertionError, match="unknown, known are"):
        run(tmp_path, "sh", "conformance run --backend nope")
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 1\n```\n\n```text\n2\n```\n\n<!-- not run: why -->\n```sh\nfalse\n```\n", "utf-8")
    first, second = blocks(page)
    assert (first.output, first.why_not, second.why_not) == ("2\n", None, "why")
