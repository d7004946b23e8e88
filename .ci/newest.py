"""Print what a backend needs in its newest release: its extra without the versions that this pins. `newest.py torch`.

What is held below a version stays so: that release is the newest that can work.
"""

import sys
from pathlib import Path

import tomllib
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet


def newest(text: str) -> str:
    """Return a requirement without the version that it is pinned to."""
    requirement = Requirement(text)
    kept = [one for one in requirement.specifier if one.operator != "=="]
    requirement.specifier = SpecifierSet(",".join(map(str, kept)))
    return str(requirement)


def main(backend: str) -> None:
    """Print the requirements of a backend, a line each."""
    extras = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    print("\n".join(map(newest, extras[backend])))


if __name__ == "__main__":
    main(*sys.argv[1:])
