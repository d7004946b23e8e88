"""Every backend has an adapter, an extra and a tox environment, and the paths in tox.ini exist."""

import configparser
import itertools
import json
import re
from pathlib import Path

import pytest

from conformance.adapters import registry
from tests import ROOT

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

TOX = configparser.ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini", "utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def expanded(text):
    """Yield the names in a list of tox, with braces expanded."""
    names = re.findall(r"(?:[^,{\s]|\{[^}]*\})+", text)
    for name in names:
        parts = [
            part.strip("{}").split(",") if part.startswith("{") else [part] for part in re.split(r"(\{.*?\})", name)
        ]
        yield from ("".join(choice) for choice in itertools.product(*parts))


MAIN, MORE, ROUTES = (set(expanded(TOX["backends"][key])) for key in ("main", "more", "routes"))
OWN = set(registry.built_in_modules()) - {registry.BUILT_IN_BACKEND}


def test_every_backend_has_an_environment_of_its_own():
    assert MAIN | MORE | ROUTES == OWN
    assert len(MAIN) + len(MORE) + len(ROUTES) == len(OWN)


def test_environments_outside_the_main_job_are_known_to_tox():
    headings = [section.removeprefix("testenv:") for section in TOX.sections() if "{" in section]
    assert {*map(frozenset, map(expanded, headings))} == {frozenset(MORE), frozenset(ROUTES)}


@pytest.mark.parametrize("name", ["oldest", "nightly"])
def test_environments_that_select_tests_name_paths_that_exist(name):
    commands = TOX[f"testenv:{name}"]["commands"].replace("\\\n", " ")
    (command,) = (line for line in commands.splitlines() if line.startswith("pytest "))
    paths = [word for word in command.split() if word.startswith("tests/")]
    assert len(paths) >= 3
    assert all((ROOT / path).exists() for path in paths)


@pytest.mark.parametrize("name", sorted(OWN))
def test_every_backend_has_an_extra_that_pins_the_framework(name):
    worker = registry.get_backend(name).worker
    if worker is None:
        assert "==" in EXTRAS[name][0]
    else:
        assert EXTRAS[name] == []
        folder = Path(worker.arguments[3]).parent  # of the module with names for programs
        versions = json.loads((folder / "package.json").read_text("utf-8"))["dependencies"].values()
        assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
        assert '"resolved"' not in (folder / "package-lock.json").read_text("utf-8")


def test_extras_that_are_not_backends_are_those_of_parquet_and_of_clusters():
    assert set(EXTRAS) == OWN | {"parquet", "scale"}
