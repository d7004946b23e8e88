"""Open an issue for each thing that a night has brought, unless there is one: `open_issues.py build/watch`.

Issues, closed ones too, are known again by the key at the end of their titles. It needs GitHub's `gh`, logged in.
"""

import json
import subprocess
import sys
from pathlib import Path


def gh(*arguments: str) -> str:
    """Return what GitHub's command line says; it must succeed."""
    return subprocess.run(["gh", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S603, S607


def main(folder: str) -> None:
    """Open what is not there; say of each issue what came of it."""
    for one in json.loads((Path(folder) / "issues.json").read_text("utf-8")):
        there = json.loads(
            gh("issue", "list", "--state", "all", "--search", f"{one['key']} in:title", "--json", "number")
        )
        if there:
            print(f"{one['key']}: issue {there[0]['number']}")
        else:
            body = str(Path(folder) / one["file"])
            print(f"{one['key']}: {gh('issue', 'create', '--title', one['title'], '--body-file', body).strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
