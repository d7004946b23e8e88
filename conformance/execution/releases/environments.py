"""One environment for each release: a virtual environment with the release alone, over a base with what it needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance import IncompleteRun

INSTALL_SECONDS, IMPORT_SECONDS = 900, 120
"""Time limits in seconds."""
OLD_NUMPY = "numpy<2"
OLD_NUMPY_MARK = "compiled using NumPy 1"
"""Printed on the import of a module that NumPy 2 cannot load. The import may succeed, and its first call crash."""


@dataclass(frozen=True)
class ReleaseEnvironments:
    """Environments of the releases of a package in a folder.

    package: its name for pip and for the import; others: requirements of the base, without NumPy; python: interpreter
    that makes the environments; keep: number of environments that remain on disk.
    """

    folder: Path
    package: str
    others: Sequence[str]
    python: str = sys.executable
    keep: int = 3

    def python_of(self, version: str) -> str:
        """Return the interpreter of a release, installed first if necessary. Raises IncompleteRun with the reason."""
        problem = ""
        for numpy in ("numpy", OLD_NUMPY):
            base = self._base(numpy)
            python = self._install(version, base)
            problem = self._import_problem(python)
            if not problem:
                return python
            if OLD_NUMPY_MARK not in problem:
                break
        self.remove(version)
        raise IncompleteRun(f"{self.package} {version}: cannot be imported: {problem.strip().splitlines()[-1]}")

    def remove_old(self) -> None:
        """Remove all but the `keep` environments that were used last."""
        found = sorted(self.folder.glob(f"{self.package}-*"), key=lambda path: path.stat().st_mtime)
        for path in found[: max(len(found) - self.keep, 0)]:
            shutil.rmtree(path, ignore_errors=True)

    def remove(self, version: str) -> None:
        """Remove the environment of a release."""
        shutil.rmtree(self._path(version), ignore_errors=True)

    def _path(self, version: str) -> Path:
        return self.folder / f"{self.package}-{version}"

    def _base(self, numpy: str) -> Path:
        """Return the folder of packages of a base, made on first use. Raises IncompleteRun."""
        path = self.folder / ("base-old-numpy" if numpy == OLD_NUMPY else "base")
        if not (path / "complete").exists():
            shutil.rmtree(path, ignore_errors=True)
            self._pip(f"base of {self.package}", path, [numpy, *self.others])
            (path / "complete").touch()
        return path

    def _install(self, version: str, base: Path) -> str:
        path = self._path(version)
        python = path / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        # Renewed if the environment is incomplete or was made over the other base.
        if not (path / "complete").exists():
            self.remove(version)
            self._execute(f"{self.package} {version}", [self.python, "-m", "venv", "--without-pip", str(path)])
            requirement = [f"{self.package}=={version}", "--no-deps"]
            self._pip(f"{self.package} {version}", path / "packages", requirement)
            (path / "complete").touch()
        (packages,) = [*path.glob("lib/python*/site-packages"), *path.glob("Lib/site-packages")]
        folders = f"{(path / 'packages').resolve()}\n{base.resolve()}\n"
        (packages / "release.pth").write_text(folders, encoding="utf-8")
        return str(python.absolute())

    def _import_problem(self, python: str) -> str:
        """Return what the import prints if it fails or if the release needs the other NumPy; "" otherwise."""
        command = [python, "-c", f"import {self.package}"]
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no end within {IMPORT_SECONDS} s"
        if OLD_NUMPY_MARK in done.stderr:
            return f"{done.stderr}\n{OLD_NUMPY_MARK}"
        return (done.stderr or f"exit status {done.returncode}") if done.returncode else ""

    def _pip(self, name: str, target: Path, requirements: Sequence[str]) -> None:
        options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--target", str(target)]
        self._execute(name, [self.python, "-m", "pip", "install", *options, *requirements])

    @staticmethod
    def _execute(name: str, command: Sequence[str]) -> None:
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise IncompleteRun(f"{name}: cannot be installed: {error}") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise IncompleteRun(f"{name}: cannot be installed: {lines[-1] if lines else 'pip fails'}")
