"""Open an issue for each new item of `conformance watch`, unless there is one: `open_issues.py build/watch`.

The key at the end of the title identifies an issue, open or closed. Needs GitHub's `gh`, logged in.
"""

import json
import subprocess
import sys
from pathlib import Path


def gh(*arguments: str) -> str:
    """Run GitHub's command-line tool and return its output. Raises CalledProcessError if it fails."""
    return subprocess.run(["gh", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S603, S607


def main(folder: str) -> None:
    """Open the missing issues, and print the number or address of each."""
    for one in json.loads((Path(folder) / "issues.json").read_text("utf-8")):
        existing = json.loads(
            gh("issue", "list", "--state", "all", "--search", f"{one['key']} in:title", "--json", "number")
        )
        if existing:
            print(f"{one['key']}: issue {existing[0]['number']}")
        else:
            body = str(Path(folder) / one["file"])
            print(f"{one['key']}: {gh('issue', 'create', '--title', one['title'], '--body-file', body).strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
