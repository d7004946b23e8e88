"""Code blocks of the documentation, and a function that runs them."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

from markdown_it import MarkdownIt

from tests import ROOT

TRANSLATIONS = ROOT / "docs" / "translations"  # generated; .ci/stand_alone.py runs programs of this form
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if TRANSLATIONS not in path.parents),
]
COMMANDS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"], "js": ["node", "-e"]}
PROGRESS = re.compile(r"^[\w@.-]+: [\d,]+(?: of [\d,]+, [\d,.]+/s, .*|(?: of [\d,]+)? cases)\n", re.MULTILINE)
"""Progress lines of a run and of reading cases, which a slow machine prints every few seconds."""
ABOUT_THE_PROCESSOR = re.compile(r"^The device supports: .*\n", re.MULTILINE)
"""Line that MNN prints when it is imported."""
NOT_RUN = re.compile(r"<!-- not run: (?P<why>.+) -->\s*")
NEEDS_BACKEND = "needs "
"""A block with the reason `needs BACKEND` is run by .ci/framework_blocks.py in the environment of the backend."""


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


def run(folder, language, text, *, errors=subprocess.STDOUT):
    """Run a block in a folder with this Python and its `conformance`; return its output.

    errors: file of standard error, by default the output.
    """
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    for name, command in (("conformance", "-m conformance.cli "), ("python", ""), ("pytest", "-m pytest ")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command}"$@"\n', "utf-8")
        (tools / name).chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    done = subprocess.run(
        [*COMMANDS[language], text], cwd=folder, check=False, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=errors,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return ABOUT_THE_PROCESSOR.sub("", PROGRESS.sub("", done.stdout))


def shell_commands(text):
    """Return the commands of a shell block, each as a list of words, without variables and redirections."""
    joined = text.replace("\\\n", " ")
    found = []
    for line in joined.splitlines():
        words = shlex.split(line, comments=True)
        command = []
        for word in [*words, "&&"]:
            if word in {"&&", "||", "|", ";"}:
                found += [command] if command else []
                command = []
            elif command or "=" not in word.split("/")[0]:
                command.append(word)
    return found
