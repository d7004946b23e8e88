"""The example of a backend with a worker in C: it is compiled, and runs its cases like any other backend."""

import os
import shutil
import subprocess
import sys

import pytest

from tests import ROOT

EXAMPLE = ROOT / "docs" / "example-backend-c"
COMPILER = shutil.which("cc")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler (cc)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder with the package as pip installs it, and with the compiled worker."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE / "conformance_pooling_c", folder / "conformance_pooling_c")
    metadata = folder / "conformance_pooling_c-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: conformance-pooling-c\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text("[conformance.backends]\npooling-c = conformance_pooling_c\n", "utf-8")
    source = folder / "conformance_pooling_c" / "worker.c"
    options = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(folder / "pooling-worker")]
    subprocess.run([COMPILER, *options, str(source), "-lm"], check=True)
    return folder


def command(site, *arguments, path=True):
    """Run a command of the suite with the package, and with its worker on PATH."""
    paths = [*([str(site)] if path else []), os.environ["PATH"]]
    environment = {**os.environ, "PYTHONPATH": f"{site}:{ROOT}", "PATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-m", *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_every_result_is_as_expected(site, tmp_path):
    ran = command(site, "conformance.cli", "run", "--backend", "pooling-c", "--out", str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " pass" in ran.stdout
    assert "undeclared" not in ran.stdout


def test_worker_can_be_named_by_its_path(site, tmp_path):
    selected = ("--case", "max_pool/book-stride-2-padding-1", "--out", str(tmp_path))
    backend = f"pooling-c={site / 'pooling-worker'}"
    ran = command(site, "conformance.cli", "run", "--backend", backend, *selected, path=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_missing_worker_is_named_in_one_line(site, tmp_path):
    ran = command(site, "conformance.cli", "run", "--backend", "pooling-c", "--out", str(tmp_path), path=False)
    assert ran.returncode == 3
    assert "backend pooling-c: the program pooling-worker is not installed" in ran.stderr


def test_repro_script_runs_the_worker(site, tmp_path):
    printed = command(site, "conformance.cli", "repro", "avg_pool/2d-padding-1", "--surface", "pooling.c")
    assert printed.returncode == 0, printed.stderr
    assert exit_status(site, tmp_path, printed.stdout) == 0
    wrong = printed.stdout.replace("expected = np.array([[-198", "expected = np.array([[-199")
    assert wrong != printed.stdout
    assert exit_status(site, tmp_path, wrong) == 1


def exit_status(site, folder, text):
    """Return the exit status of a script, with the worker on PATH."""
    script = folder / "repro_script.py"
    script.write_text(text, "utf-8")
    paths = {"PATH": os.pathsep.join([str(site), os.environ["PATH"]])}
    return subprocess.run([sys.executable, str(script)], env={**os.environ, **paths}, check=False).returncode


def test_translation_is_the_call_of_the_worker(site):
    ran = command(site, "conformance.cli", "translate", "avg_pool/2d-padding-1", "--surface", "pooling.c")
    assert "\navg_pool window=3,3 stride=2,2 before=1,1 after=1,1 dilation=1,1 rounding=floor counted=0" in ran.stdout
