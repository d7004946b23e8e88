"""What the nightly job does besides: it installs the newest releases, and opens an issue for what has none."""

import json
import os
import runpy
import subprocess
import sys

import pytest
import yaml

from conformance.adapters import registry
from tests import ROOT

CI = ROOT / ".ci"
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "conformance.yml").read_text("utf-8"))
GH = """#!{python}
import json, pathlib, sys
told = pathlib.Path({told!r})
told.write_text(told.read_text("utf-8") + json.dumps(sys.argv[1:]) + "\\n", "utf-8")
print('[{{"number": 7}}]' if "aaaaaaaa in:title" in sys.argv else "[]" if sys.argv[2] == "list" else "https://there/8")
"""


@pytest.mark.parametrize("backend", sorted(set(registry.built_in_modules()) - {registry.BUILT_IN_BACKEND}))
def test_a_night_pins_no_release(backend):
    pytest.importorskip("tomllib", reason="the job runs on Python 3.11")
    done = subprocess.run(
        [sys.executable, CI / "newest.py", backend], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip()
    assert "==" not in done.stdout


def test_what_cannot_work_newer_stays_held():
    pytest.importorskip("tomllib", reason="the job runs on Python 3.11")
    newest = runpy.run_path(str(CI / "newest.py"))["newest"]
    assert [newest(one) for one in ("numpy<1.24", "jax==0.10.2", "ml_dtypes>=0.5")] == [
        "numpy<1.24",
        "jax",
        "ml_dtypes>=0.5",
    ]


def test_an_issue_is_opened_for_what_has_none(tmp_path):
    told = tmp_path / "told"
    told.write_text("", "utf-8")
    command = tmp_path / "gh"
    command.write_text(GH.format(python=sys.executable, told=str(told)), "utf-8")
    command.chmod(0o755)
    issues = [
        {"key": key, "why": "drawn", "title": f"it [{key}]", "file": f"issues/{key}.md"} for key in ("a" * 8, "b" * 8)
    ]
    (tmp_path / "issues.json").write_text(json.dumps(issues), "utf-8")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, CI / "open_issues.py", tmp_path]
    done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == "aaaaaaaa: issue 7\nbbbbbbbb: https://there/8\n"
    calls = [json.loads(line) for line in told.read_text("utf-8").splitlines()]
    body = str(tmp_path / "issues" / "bbbbbbbb.md")
    assert [one[1] for one in calls] == ["list", "list", "create"]
    assert calls[-1] == ["issue", "create", "--title", "it [bbbbbbbb]", "--body-file", body]


def test_the_watch_reads_what_the_nights_leave():
    night, watch = WORKFLOW["jobs"]["night"], WORKFLOW["jobs"]["watch"]
    left = next(step["with"]["name"] for step in night["steps"] if "upload-artifact" in step.get("uses", ""))
    taken = [step["with"]["pattern"] for step in watch["steps"] if "download-artifact" in step.get("uses", "")]
    kept = next(step["with"]["name"] for step in watch["steps"] if "upload-artifact" in step.get("uses", ""))
    assert left.startswith("night-")
    assert taken == ["night-*", f"{{night-*,{kept}}}"]
    assert watch["needs"] == "night"
    assert watch["steps"][-1]["if"] == "${{ always() && vars.OPEN_ISSUES == 'true' }}"
