"""One virtual environment for each release of a framework, with the packages that it needs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api import Backend

INSTALL_SECONDS, IMPORT_SECONDS = 900, 120
"""Time limits in seconds."""
NUMPY, OLD_NUMPY = "numpy", "numpy<2"
OLD_NUMPY_MARK = "compiled using NumPy 1"
"""Printed on the import of a module that NumPy 2 cannot load. The import may succeed, and its first call crash."""


def further_requirements(backend: Backend, chosen: Sequence[str]) -> list[str]:
    """Return the packages that the releases of a backend need, without the package of the releases itself.

    They are those of the suite's extra for the backend, or else the other packages of the adapter, and those that are
    chosen; a chosen one replaces that of the same name. Raises ConformanceError for an invalid requirement.
    """
    package, *others = (registry.distribution_of(backend.name, one) for one in backend.packages)
    needed = registry.requirements_of(backend.name) or [one for one in others if one != "numpy"]
    replaced = {_name(package), *map(_name, chosen)}
    return [*(one for one in needed if _name(one) not in replaced), *chosen]


def _name(text: str) -> str:
    """Return the normalised name of the package of a requirement. Raises ConformanceError."""
    try:
        return canonicalize_name(Requirement(text).name)
    except InvalidRequirement as error:
        line = str(error).splitlines()[0]
        raise ConformanceError(f"requirement {text!r}: {line}") from None


@dataclass(frozen=True)
class ReleaseEnvironments:
    """Environments of the releases of a package in a folder.

    package: its name for the import; distribution: its name for pip; others: further requirements, without NumPy;
    python: interpreter that makes the environments; keep: largest number of environments on disk; base: interpreter of
    an environment whose packages are used, so that only the release and `others` are installed, without what they need.
    """

    folder: Path
    package: str
    distribution: str
    others: Sequence[str] = ()
    python: str = sys.executable
    keep: int = 3
    base: str = ""

    def python_of(self, version: str, setup: str = "") -> str:
        """Return the interpreter of a release, installed first if necessary. Raises IncompleteRun with the reason.

        setup: source text that must run in the environment, by default the import of the package.
        """
        problem = ""
        for numpy in (NUMPY, OLD_NUMPY):
            python = self._install(version, numpy, renew=bool(problem))
            problem = self._import_problem(python, setup or f"import {self.package}")
            if not problem:
                return python
            if OLD_NUMPY_MARK not in problem:
                break
        self.remove(version)
        raise IncompleteRun(f"{self.distribution} {version}: cannot be imported: {problem.strip().splitlines()[-1]}")

    def remove(self, version: str) -> None:
        """Remove the environment of a release."""
        shutil.rmtree(self._path(version), ignore_errors=True)

    def _remove_old(self, keep: int) -> None:
        """Remove all but the `keep` environments that were used last."""
        found = sorted(self.folder.glob(f"{self.package}-*"), key=lambda path: path.stat().st_mtime_ns)
        for path in found[: max(len(found) - keep, 0)]:
            shutil.rmtree(path, ignore_errors=True)

    def _path(self, version: str) -> Path:
        return self.folder / f"{self.package}-{version}"

    def _install(self, version: str, numpy: str, *, renew: bool) -> str:
        path = self._path(version)
        if renew or not (path / "complete").exists():
            self.remove(version)
            self._remove_old(self.keep - 1)
            try:
                self._make(path, version, numpy)
            except IncompleteRun:
                self.remove(version)
                raise
        path.touch()
        python = path / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        return str(python.absolute())

    def _make(self, path: Path, version: str, numpy: str) -> None:
        """Make an environment. pip of `python` installs into it, so it needs no pip of its own."""
        name = f"{self.distribution} {version}"
        self._execute(name, [self.python, "-m", "venv", "--without-pip", str(path)])
        (packages,) = [*path.glob("lib/python*/site-packages"), *path.glob("Lib/site-packages")]
        # Compiling all modules of a framework to bytecode takes longer than the rest of its installation.
        options = ["--quiet", "--no-compile", "--disable-pip-version-check", "--only-binary", ":all:"]
        options += ["--target", str(packages)]
        requirements = [f"{self.distribution}=={version}", *self.others, numpy]
        if self.base:
            # Packages of the environment come before those of a .pth file.
            (packages / "base.pth").write_text("\n".join(self._base_folders()), "utf-8")
            options += ["--no-deps"]
            requirements = [one for one in requirements if one != NUMPY]
        self._execute(name, [self.python, "-m", "pip", "install", *options, *requirements])
        (path / "complete").touch()

    def _base_folders(self) -> list[str]:
        """Return the folders of the packages of the base environment. Raises IncompleteRun."""
        command = [self.base, "-I", "-c", "import json, sys; print(json.dumps(sys.path))"]
        folders: list[str] = json.loads(self._execute("base environment", command))
        return [one for one in folders if Path(one).name == "site-packages"]

    @staticmethod
    def _import_problem(python: str, setup: str) -> str:
        """Return what the setup prints if it fails or if the release needs the other NumPy; "" otherwise."""
        command = [python, "-c", setup]
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no end within {IMPORT_SECONDS} s"
        if OLD_NUMPY_MARK in done.stderr:
            return f"{done.stderr}\n{OLD_NUMPY_MARK}"
        return (done.stderr or f"exit status {done.returncode}") if done.returncode else ""

    @staticmethod
    def _execute(name: str, command: Sequence[str]) -> str:
        """Return what a command prints. Raises IncompleteRun."""
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise IncompleteRun(f"{name}: cannot be installed: {error}") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise IncompleteRun(f"{name}: cannot be installed: {lines[-1] if lines else 'pip fails'}")
        return done.stdout
