"""Code blocks of the documentation: they are run, and their output is compared with the block below them."""

import configparser
import json
import re
import shutil

import click
import pytest
import yaml

from conformance.adapters import registry
from conformance.cli import COMMAND_LOCATIONS, LazyCommands
from conformance.pytest_plugin import pytest_addoption
from tests import ROOT
from tests.support.documentation_blocks import COMMANDS, NEEDS_BACKEND, PAGES, blocks, matches, run, shell_commands

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

FROM_NOTHING = [path for path in PAGES if path.name == "tutorial.md" or path.parent.name == "how-to"]
PARSERS = {"yaml": yaml.safe_load, "toml": tomllib.loads, "json": json.loads}
TOX_NAMES = re.compile(r"^(?:tox|python -m tox) run (?:-e (?P<environments>\S+)|-m (?P<labels>\S+))")


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A folder with results of an earlier run, which most pages need."""
    folder = tmp_path_factory.mktemp("results")
    run(folder, "sh", "conformance run --backend numpy --operator min_pool")
    return folder


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


COMMANDS_NOT_RUN = [
    (block.place, command)
    for page in PAGES
    for block in blocks(page)
    if block.why_not and block.language == "sh"
    for command in shell_commands(block.text)
]


def command_options(name, words):
    """Return the options of a command of `conformance`, and the options among the words after its name."""
    command = LazyCommands()[name]
    if isinstance(command, click.Group) and words:
        command = command.commands[words[0]]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return known | {"--help"}, {word.split("=")[0] for word in words if word.startswith("-") and len(word) > 1}


class OptionNames:
    """Records the names of options that a pytest plugin adds."""

    def __init__(self):
        self.names = set()

    def getgroup(self, *_):
        return self

    def addoption(self, *names, **_):
        self.names |= {*names}

    def addini(self, *_, **__):
        pass


def wrong_words(command):
    """Return the words of a command that do not exist: commands, options, environments of tox."""
    if command[0] == "conformance":
        if command[1] not in COMMAND_LOCATIONS:
            return {command[1]}
        known, used = command_options(command[1], command[2:])
        return used - known
    if command[0] == "pytest":
        options = OptionNames()
        pytest_addoption(options)
        return {one.split("=")[0] for one in command if one.startswith("--conformance")} - options.names
    if found := TOX_NAMES.match(" ".join(command)):
        return {*(found["environments"] or found["labels"]).split(",")} - tox_names()
    return set()


def tox_names():
    """Return the environments and labels of tox.ini."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini")
    environments = {name.partition(":")[2] for name in parser if name.startswith("testenv:") and "{" not in name}
    labels = {word for section in parser.values() for word in section.get("labels", "").replace(",", " ").split()}
    return environments | labels | {*registry.backend_names()}


@pytest.mark.parametrize(("place", "command"), COMMANDS_NOT_RUN, ids=[place for place, _ in COMMANDS_NOT_RUN])
def test_commands_that_are_not_run_exist_with_their_options(place, command):
    assert wrong_words(command) == set(), place


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("conformance surfaces --backends mine", {"--backends"}),
        ("conformance nope", {"nope"}),
        ("conformance ledger add x.jsonl --reason why --wrong", {"--wrong"}),
        ("pytest --conformance-nope torch -k x", {"--conformance-nope"}),
        ("python -m tox run -e torch,nope", {"nope"}),
        ("tox run -m every", set()),
        ("A=1 conformance run --backend torch --level standard | cat && conformance report --out x", set()),
    ],
)
def test_command_with_a_wrong_name_or_option_is_detected(text, wrong):
    assert set().union(*map(wrong_words, shell_commands(text))) == wrong


def test_backends_that_blocks_need_exist():
    needed = {
        block.why_not.removeprefix(NEEDS_BACKEND)
        for page in PAGES
        for block in blocks(page)
        if block.why_not and block.why_not.startswith(NEEDS_BACKEND) and " " not in block.why_not[len(NEEDS_BACKEND) :]
    }
    assert needed <= {*registry.backend_names()}
    assert {"torch", "tensorflow"} <= needed


def test_every_block_has_a_language_that_is_checked():
    languages = {block.language for page in PAGES for block in blocks(page)}
    # test_runtime_without_python.py runs the program in JavaScript.
    assert languages <= {*COMMANDS, *PARSERS, "js"}


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
        run(tmp_path, "sh", "conformance run --backend quux")
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 1\n```\n\n```text\n2\n```\n\n<!-- not run: why -->\n```sh\nfalse\n```\n", "utf-8")
    first, second = blocks(page)
    assert (first.output, first.why_not, second.why_not) == ("2\n", None, "why")
