"""The page about runtimes without Python, word for word. With CONFORMANCE_REQUIRE_NODE=1 a missing node is an error."""

import os
import re
import shutil

import pytest

from tests import ROOT
from tests.support.documentation_blocks import blocks, matches, run

PAGE = ROOT / "docs" / "how-to" / "judge-a-runtime-without-python.md"
PLANTED = ("largest = -Infinity", "largest = 0")
"""A bug in the program of the page: padding and negative numbers count as 0."""


@pytest.fixture(scope="module")
def node():
    """Path of Node.js, without which the program of the page cannot run."""
    missing = pytest.fail if os.environ.get("CONFORMANCE_REQUIRE_NODE") == "1" else pytest.skip
    return shutil.which("node") or missing("no node on the PATH")


@pytest.fixture
def page(tmp_path, node):  # noqa: ARG001 - tests of the page are skipped without it
    """The blocks of the page by their text, with the exported cases and the program in the folder of the test."""
    found = {block.text: block for block in blocks(PAGE)}
    for block in found.values():
        if block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
    run(tmp_path, "sh", command_of(found, "conformance export"))
    return found


def command_of(page, start):
    (text,) = [text for text in page if text.startswith(start)]
    return text


def test_the_program_of_the_page_passes(page, tmp_path):
    run(tmp_path, "sh", command_of(page, "node "))
    written = (tmp_path / "outputs" / "outputs.jsonl").read_text("utf-8")
    judge = page[command_of(page, "conformance judge")]
    assert matches(run(tmp_path, "sh", judge.text), judge.output)
    (documented,) = [text for text in texts() if text.startswith('{"case"')]
    assert matches(written, documented)


def texts():
    """Return the text blocks of the page, in order."""
    return re.findall(r"```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_a_planted_bug_in_the_program_is_found(page, tmp_path):
    program = (tmp_path / "pool.js").read_text("utf-8")
    assert program.count(PLANTED[0]) == 1
    (tmp_path / "pool.js").write_text(program.replace(*PLANTED), "utf-8")
    run(tmp_path, "sh", command_of(page, "node "))
    with pytest.raises(AssertionError) as error:
        run(tmp_path, "sh", command_of(page, "conformance judge"))
    (documented,) = [text for text in texts() if text.startswith("✗ fail")]
    assert documented in str(error.value)
    assert "✗ 15 unexpected results" in str(error.value)


def test_a_program_that_stops_early_does_not_pass(page, tmp_path):
    run(tmp_path, "sh", command_of(page, "node "))
    path = tmp_path / "outputs" / "outputs.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), "utf-8")
    with pytest.raises(AssertionError, match="no output for 1 of 109 cases"):
        run(tmp_path, "sh", command_of(page, "conformance judge"))


def test_two_versions_are_compared(page, tmp_path):
    run(tmp_path, "sh", command_of(page, "node "))
    for name, version in (("pooljs", "1.2"), ("pooljs@1.3", "1.3")):
        run(tmp_path, "sh", f"conformance judge cases outputs --name {name} --runtime-version {version}")
    assert "✓ Nothing changed" in run(tmp_path, "sh", command_of(page, "conformance report"))
