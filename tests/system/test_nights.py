"""Scripts of the nightly job: install the newest releases, and open missing issues."""

import configparser
import json
import os
import runpy
import subprocess
import sys

import pytest

from conformance.adapters import registry
from tests import ROOT
from tests.support.nightly_workflow import WORKFLOW, nightly_slow_surfaces

CI = ROOT / ".ci"
FAKE_GH = """#!{python}
import json, pathlib, sys
log = pathlib.Path({log!r})
log.write_text(log.read_text("utf-8") + json.dumps(sys.argv[1:]) + "\\n", "utf-8")
print('[{{"number": 7}}]' if "aaaaaaaa in:title" in sys.argv else "[]" if sys.argv[2] == "list" else "https://there/8")
"""


# A backend with a worker in another language has no packages for Python.
BACKENDS = sorted(name for name in registry.built_in_modules() if registry.get_backend(name).worker is None)


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != registry.BUILT_IN_BACKEND])
def test_newest_releases_have_no_pinned_version(backend):
    pytest.importorskip("tomllib", reason="the job runs on Python 3.11")
    done = subprocess.run(
        [sys.executable, CI / "newest.py", backend], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip()
    assert "==" not in done.stdout


@pytest.mark.parametrize(("backend", "version"), [("jax", "3.13"), ("torch", "3.13"), ("mxnet", "3.11")])
def test_newest_releases_run_on_the_newest_python_of_their_backend(backend, version):
    pytest.importorskip("tomllib", reason="the job runs on Python 3.11")
    command = [sys.executable, CI / "newest.py", "--python", backend]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == f"{version}\n"
    steps = WORKFLOW["jobs"]["night"]["steps"]
    chosen = next(step for step in steps if step.get("id") == "python")
    assert "newest.py --python ${{ matrix.backend }}" in chosen["run"]
    used = [step["with"]["python-version"] for step in steps if "setup-python" in step.get("uses", "")]
    assert used[-1] == "${{ steps.python.outputs.version }}"


def test_upper_limits_of_versions_remain():
    pytest.importorskip("tomllib", reason="the job runs on Python 3.11")
    newest = runpy.run_path(str(CI / "newest.py"))["newest"]
    assert [newest(one) for one in ("numpy<1.24", "jax==0.10.2", "ml_dtypes>=0.5")] == [
        "numpy<1.24",
        "jax",
        "ml_dtypes>=0.5",
    ]


def test_an_issue_is_opened_unless_it_exists(tmp_path):
    log = tmp_path / "log"
    log.write_text("", "utf-8")
    command = tmp_path / "gh"
    command.write_text(FAKE_GH.format(python=sys.executable, log=str(log)), "utf-8")
    command.chmod(0o755)
    issues = [
        {"key": key, "why": "drawn", "title": f"it [{key}]", "file": f"issues/{key}.md"} for key in ("a" * 8, "b" * 8)
    ]
    (tmp_path / "issues.json").write_text(json.dumps(issues), "utf-8")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, CI / "open_issues.py", tmp_path]
    done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == "aaaaaaaa: issue 7\nbbbbbbbb: https://there/8\n"
    calls = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    body = str(tmp_path / "issues" / "bbbbbbbb.md")
    assert [one[1] for one in calls] == ["list", "list", "create"]
    assert calls[-1] == ["issue", "create", "--title", "it [bbbbbbbb]", "--body-file", body]


def test_the_watch_job_downloads_the_artifacts_of_the_nightly_jobs():
    night, watch = WORKFLOW["jobs"]["night"], WORKFLOW["jobs"]["watch"]
    uploaded = next(step["with"]["name"] for step in night["steps"] if "upload-artifact" in step.get("uses", ""))
    downloaded = [step["with"]["pattern"] for step in watch["steps"] if "download-artifact" in step.get("uses", "")]
    history = next(step["with"]["name"] for step in watch["steps"] if "upload-artifact" in step.get("uses", ""))
    assert uploaded.startswith("night-")
    assert downloaded == ["night-*", f"{{night-*,{history}}}"]
    assert watch["needs"] == "night"
    assert watch["steps"][-1]["if"] == "${{ always() && vars.OPEN_ISSUES == 'true' }}"


@pytest.mark.parametrize("job", ["slow", "slow-surfaces"])
def test_jobs_of_slow_surfaces_run_every_case_of_level_standard(job):
    commands = [step["run"] for step in WORKFLOW["jobs"][job]["steps"] if "tox run" in step.get("run", "")]
    assert len(commands) == 1
    assert "--level standard --slow" in commands[0]


def test_jobs_of_slow_surfaces_name_slow_surfaces_of_their_backends():
    assert "--surface ${{ matrix.surface }}" in WORKFLOW["jobs"]["slow-surfaces"]["steps"][-1]["run"]
    for name, backend in nightly_slow_surfaces().items():
        (surface,) = [one for one in registry.get_backend(backend).surfaces if one.name == name]
        assert surface.slow_tag


FAKE_COMPAT = """\
#!{python}
import sys
from pathlib import Path

Path("log").open("a").write(" ".join(sys.argv[1:5]) + "\\n")
for option in ("--out", "--changes"):
    path = Path(sys.argv[sys.argv.index(option) + 1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("changes of " + sys.argv[2] + "\\n")
"""


def test_new_releases_join_the_data_of_the_previous_night_or_else_that_of_the_suite(tmp_path):
    steps = WORKFLOW["jobs"]["watch"]["steps"]
    script = next(one["run"] for one in steps if one.get("name") == "Add new releases to the history")
    for folder in ("known", "seen", "without"):
        (tmp_path / "build" / "tonight" / "history" / folder).mkdir(parents=True)
    for path in ("docs/compat/known.json", "docs/compat/seen.json", "build/last/compat/seen.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    command = tmp_path / "bin" / "conformance"
    command.parent.mkdir()
    command.write_text(FAKE_COMPAT.format(python=sys.executable), "utf-8")
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }

    subprocess.run(["/bin/bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=True)

    assert (tmp_path / "log").read_text("utf-8").splitlines() == [
        "compat build/tonight/history/known/ --onto docs/compat/known.json",
        "compat build/tonight/history/seen/ --onto build/last/compat/seen.json",
    ]
    assert (tmp_path / "build" / "watch" / "compat" / "seen.json").exists()
    assert (tmp_path / "summary").read_text("utf-8").splitlines() == [
        "changes of build/tonight/history/known/",
        "changes of build/tonight/history/seen/",
    ]


def test_the_nightly_job_runs_each_file_with_nightly_tests():
    tox = configparser.RawConfigParser()
    tox.read(ROOT / "tox.ini", "utf-8")
    environment = tox["testenv:nightly"]["commands"]
    workflow = (ROOT / ".github" / "workflows" / "conformance.yml").read_text("utf-8")
    paths = [ROOT / word for word in (environment + workflow).split() if word.startswith("tests/")]
    files = (ROOT / "tests").rglob("test_*.py")
    marked = [one for one in files if one.read_text("utf-8").count("\n@only_nightly\n")]
    assert len(marked) > 10
    assert [one for one in marked if not any(one.is_relative_to(path) for path in paths)] == []
