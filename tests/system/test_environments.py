"""A backend is an adapter, an extra and a tox environment; none of the three is forgotten."""

import configparser
import itertools
import re

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


def unfolded(text):
    """Return the names in a list of tox, whose braces stand for each of what is in them."""
    names = re.findall(r"(?:[^,{\s]|\{[^}]*\})+", text)
    for name in names:
        parts = [
            part.strip("{}").split(",") if part.startswith("{") else [part] for part in re.split(r"(\{.*?\})", name)
        ]
        yield from ("".join(choice) for choice in itertools.product(*parts))


MAIN, MORE = (set(unfolded(TOX["backends"][key])) for key in ("main", "more"))
OWN = set(registry.built_in_modules()) - {registry.BUILT_IN_BACKEND}


def test_every_backend_has_an_environment_of_its_own():
    assert MAIN | MORE == OWN
    assert not MAIN & MORE


def test_environments_beside_the_main_job_are_known_to_tox():
    (heading,) = (section for section in TOX.sections() if section.startswith("testenv:{"))
    assert set(unfolded(heading.removeprefix("testenv:"))) == MORE


@pytest.mark.parametrize("name", sorted(OWN))
def test_every_backend_has_an_extra_that_pins_the_framework(name):
    assert "==" in EXTRAS[name][0]


def test_no_extra_is_of_no_backend_but_those_of_a_format_and_of_a_cluster():
    assert set(EXTRAS) == OWN | {"parquet", "scale"}
