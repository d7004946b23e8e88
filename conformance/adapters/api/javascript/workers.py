"""Workers for frameworks in JavaScript: their npm packages, and Chromium for surfaces that run in a page.

The worker is `worker.mjs`. An adapter has a folder `javascript` with the files `package.json` and
`package-lock.json`, and with a module of names for its programs. `.ci/npm_backend.py` installs the packages.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from conformance.adapters.api.backend import WorkerCommand

NODE = "node"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
"""Programs of the browser, by their names in several distributions."""
WORKER_FILE = Path(__file__).with_name("worker.mjs")
PACKAGES_FOLDER = Path(sys.prefix) / "share" / "nn-conformance"
"""Folder of the npm packages, which belong to the Python environment like other packages."""


@dataclass(frozen=True)
class NpmPackages:
    """The npm packages of a backend.

    framework: its name in messages. backend: the name of the backend, and of the folder in which they are installed.
    library: the module with names for programs, in the folder of the package files.
    """

    framework: str
    backend: str
    library: Path

    @property
    def folder(self) -> Path:
        """The folder in which the packages are installed."""
        return PACKAGES_FOLDER / self.backend

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """The required version of each package."""
        found: Mapping[str, str] = json.loads(self.library.with_name("package.json").read_text("utf-8"))["dependencies"]
        return found

    @property
    def texts(self) -> str:
        """The packages with their versions, as arguments of npm."""
        return " ".join(f"{name}@{version}" for name, version in self.versions.items())

    def missing(self) -> str | None:
        """Return why this machine cannot run the worker: no npm packages. The command names a missing Node.js."""
        if all((self.folder / "node_modules" / name).is_dir() for name in self.versions):
            return None
        return f"{self.framework} is not installed: npm install --prefix {self.folder} {self.texts}"

    def command(self) -> WorkerCommand:
        """Return the command of the worker."""
        return WorkerCommand((NODE, str(WORKER_FILE), str(self.folder), str(self.library), chromium()), self.missing)


def chromium() -> str:
    """Return the program of the browser that this machine has, or its first name."""
    return next((name for name in CHROMIUM if shutil.which(name)), CHROMIUM[0])


def missing_node() -> str | None:
    """Return why this machine cannot run JavaScript outside of a page, or None."""
    return None if shutil.which(NODE) else f"the program {NODE} is not installed"


def missing_chromium() -> str | None:
    """Return why this machine cannot run a surface in a page, or None."""
    return None if shutil.which(chromium()) else f"the program {CHROMIUM[0]} is not installed"


def in_page(setup: str) -> str:
    """Return the statement of a setup that opens a page, runs a setup in it, and sends the programs to it."""
    return f"await page(String.raw`\n{setup}`);\n"
