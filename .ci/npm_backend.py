"""Install the npm packages of a backend, and run it.

Usage: npm_backend.py BACKEND [OPTION OF conformance run]…

Without Node.js or npm, it prints the reason in one line and exits with status 0.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from conformance.adapters import registry

RUNTIME_PREFIX = "routes-"
"""A route runs the npm packages of its runtime, which has the rest of its name."""


def main(name: str, *options: str) -> int:
    """Return the exit status of the run, 0 without a run."""
    worker = registry.get_backend(name.removeprefix(RUNTIME_PREFIX)).worker
    if worker is None:
        raise SystemExit(f"{name} has no worker in another language")
    program, _, folder, library, *_ = worker.arguments
    for needed in (program, "npm"):
        if shutil.which(needed) is None:
            print(f"{name}: skipped, because the program {needed} is not installed")
            return 0
    Path(folder).mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(Path(library).with_name(file), folder)
    install = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    installed = subprocess.run(install, cwd=folder, check=False)  # noqa: S603 - npm ci of a fixed folder
    if installed.returncode:
        print(f"{name}: npm ci failed with exit status {installed.returncode} in {folder}", file=sys.stderr)
        return installed.returncode
    run = [sys.executable, "-m", "conformance.cli", "run", "--backend", name, *options]
    return subprocess.run(run, check=False).returncode  # noqa: S603 - a command of the suite


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
