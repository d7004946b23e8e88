"""Print the requirements of a backend without pinned versions, to install the newest releases: `newest.py torch`.

Upper limits such as numpy<1.24 remain, because later releases do not work. With `--python`, print the newest Python
version that the backend supports: `newest.py --python torch`.
"""

import sys
from pathlib import Path

import tomllib
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

NEWEST_PYTHON = "3.13"
OLDER_PYTHONS = {"mxnet": "3.11"}
"""The newest Python version of the backends that do not support NEWEST_PYTHON."""


def newest(text: str) -> str:
    """Return a requirement without its pinned version."""
    requirement = Requirement(text)
    limits = [one for one in requirement.specifier if one.operator != "=="]
    requirement.specifier = SpecifierSet(",".join(map(str, limits)))
    return str(requirement)


def main(*arguments: str) -> None:
    """Print the requirements of a backend, one per line, or its Python version."""
    *options, backend = arguments
    if options == ["--python"]:
        print(OLDER_PYTHONS.get(backend, NEWEST_PYTHON))
        return
    extras = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    print("\n".join(map(newest, extras[backend])))


if __name__ == "__main__":
    main(*sys.argv[1:])
