"""Several releases at the same time: the work of one worker, and the results files that are written."""

import sys
import zlib
from dataclasses import replace

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.execution.distributed.cluster import ProcessWorkers
from conformance.execution.releases.environments import ReleaseEnvironments
from conformance.execution.releases.parallel import ReleaseWork, history_catalogue, run_releases
from conformance.execution.selection import Selection

SELECTION = Selection("smoke", (), (), ("max_pool/book-loops",))


class FakeWork(ReleaseWork):
    """Work whose results file is the version. The release 2.0 cannot be run."""

    def run(self, version):
        if version == "2.0":
            raise IncompleteRun("fakenet 2.0: cannot be installed")
        return zlib.compress(version.encode())


def work_in(folder, kind=ReleaseWork, identity="other"):
    return kind("onnx", SELECTION, ReleaseEnvironments(folder, "onnx", "onnx"), identity)


def test_each_results_file_is_written_and_reasons_are_returned(tmp_path):
    work = work_in(tmp_path, FakeWork)
    found = dict(run_releases(work, ["1.0", "2.0", "3.0"], ProcessWorkers(2), lambda one: tmp_path / "a" / one))
    assert found == {"1.0": "", "2.0": "fakenet 2.0: cannot be installed", "3.0": ""}
    assert {path.name: path.read_text("utf-8") for path in (tmp_path / "a").iterdir()} == {"1.0": "1.0", "3.0": "3.0"}


def test_a_worker_with_other_cases_runs_no_release(tmp_path, monkeypatch):
    monkeypatch.setattr(ReleaseEnvironments, "python_of", lambda *_arguments: pytest.fail("installed"))
    with pytest.raises(ConformanceError, match="the machine that started the runs has other, expected suite "):
        work_in(tmp_path).run("1.0")


def test_cases_are_those_of_the_selection():
    with pytest.raises(ConformanceError, match="--case no/case: matches no case"):
        history_catalogue("onnx", Selection("smoke", (), (), ("no/case",)))
    cases = history_catalogue("onnx", SELECTION)
    assert ReleaseWork.identity_of(cases).endswith(cases.digest)


def test_a_worker_makes_environments_with_its_own_interpreter(tmp_path, monkeypatch):
    used = []

    def python_of(environments, *_arguments):
        used.append(environments.python)
        raise IncompleteRun("stop")

    monkeypatch.setattr(ReleaseEnvironments, "python_of", python_of)
    work = work_in(tmp_path, identity=ReleaseWork.identity_of(history_catalogue("onnx", SELECTION)))
    for python in ("", "/other/python"):
        with pytest.raises(IncompleteRun, match="stop"):
            replace(work, environments=replace(work.environments, python=python)).run("1.0")
    assert used == [sys.executable, "/other/python"]
