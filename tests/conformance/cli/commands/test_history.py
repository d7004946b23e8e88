"""`conformance history` with releases of a fake framework, installed by pip from a folder of wheels."""

import json
import math
from dataclasses import replace

import pytest

from conformance.cli import main
from conformance.cli.commands import history
from conformance.execution.releases import history_run
from conformance.execution.releases.environments import ReleaseEnvironments
from conformance.judging.ledger import load_ledger
from tests.support import fake_backends
from tests.support.nightly import only_nightly
from tests.support.package_folder import RAISES, WRONG_SHAPE, use_packages, write_packages

CASE = "max_pool/book-loops"
RELEASES = {
    "1.0.0": RAISES,
    "1.0.1": RAISES,
    "1.1.0": RAISES,
    "1.2.0": WRONG_SHAPE,
    "1.3.0": WRONG_SHAPE,
    "1.4.0": RAISES,
    "1.5.0": "import missing_module\n",
    "1.6.0": "import os\n\n\ndef answer(x):\n    os.abort()\n",
    "1.7.0": "def other_answer(x):\n    return x\n",
}
KNOWN_CRASH = f"""\
entries:
  - id: fake-aborts
    cases: [{CASE}]
    surfaces: [fake.surface]
    kinds: [crashed]
    versions: {{fakenet: "<=1.6.0"}}
    observed: Signal 6.
    reason: The release ends the process.
"""


@pytest.fixture
def releases(tmp_path, monkeypatch):
    """Return the list of installed requirements. The backend is a fake, the working directory a new folder."""
    write_packages(tmp_path / "wheels", RELEASES)
    use_packages(monkeypatch, tmp_path / "wheels")
    monkeypatch.chdir(tmp_path)
    surface = fake_backends.surface("fake.surface", "x = fakenet.answer(x)")
    setup = f"{fake_backends.SETUP}import fakenet\n"

    def fake(name, *_others):
        return fake_backends.backend(surface, setup=setup, packages=("fakenet", "numpy"), name=name)

    monkeypatch.setattr(history, "run_targets", lambda *_arguments: None)
    monkeypatch.setattr(history.registry, "get_backend", fake)
    installed = []
    install = ReleaseEnvironments._make

    def make(self, path, version, numpy):
        installed.append(version)
        install(self, path, version, numpy)

    monkeypatch.setattr(ReleaseEnvironments, "_make", make)
    return installed


def run_history(*arguments):
    case = () if "--case" in arguments else ("--case", CASE)
    with pytest.raises(SystemExit) as end:
        main(["history", "--backend", "fake", *case, "--quiet", *arguments])
    return end.value.code or 0


def test_changed_answers_are_listed_with_their_releases(releases, tmp_path, capsys):
    assert run_history("--versions", "1.0..1.4", "--per-minor", "--keep", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["1.1.0 -> 1.2.0", "1.3.0 -> 1.4.0"]
    assert releases == ["1.0.1", "1.1.0", "1.2.0", "1.3.0", "1.4.0"]
    written = json.loads((tmp_path / "build/conformance/history/selected/fake/history.json").read_text("utf-8"))
    assert [(one["version_added"], one["version_removed"]) for one in written["records"]] == [
        (None, "1.2.0"),
        ("1.2.0", "1.4.0"),
        ("1.4.0", None),
    ]


@pytest.mark.usefixtures("releases")
def test_results_of_releases_are_apart_from_those_of_the_current_one(tmp_path, capsys):
    assert run_history("--versions", "1.4") == 0
    with pytest.raises(SystemExit) as end:
        main(["report", "--format", "terminal"])
    assert end.value.code == 3
    assert "no results in" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*.jsonl")] == ["1.4.0.jsonl"]
    header = json.loads(next(tmp_path.rglob("*.jsonl")).read_text("utf-8").splitlines()[0])
    assert header["backend"] == "fake@1.4.0"


@only_nightly
@pytest.mark.usefixtures("releases")
def test_resume_runs_complete_releases_no_more(tmp_path):
    assert run_history("--versions", "1.4") == 0
    (file,) = tmp_path.rglob("1.4.0.jsonl")
    before = file.stat().st_mtime_ns
    assert run_history("--versions", "1.3..1.4", "--resume") == 0
    assert file.stat().st_mtime_ns == before
    file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    assert run_history("--versions", "1.4", "--resume") == 0
    assert '"footer"' in file.read_text("utf-8").splitlines()[-1]


@pytest.mark.usefixtures("releases")
def test_a_release_that_cannot_be_imported_is_named_and_the_others_are_run(capsys):
    assert run_history("--versions", "1.4..1.5") == 3
    shown = capsys.readouterr()
    assert "1 releases, 0 changed answers" in shown.out
    assert "fakenet 1.5.0: cannot be imported: ModuleNotFoundError" in shown.err


@pytest.mark.usefixtures("releases")
def test_a_release_whose_process_ends_too_often_is_given_up(monkeypatch, capsys):
    monkeypatch.setattr(history_run, "MAX_CRASHES", 1)
    assert run_history("--versions", "1.6") == 3
    assert "fake 1.6.0: given up after 1 crashes in a row" in capsys.readouterr().err


@pytest.mark.usefixtures("releases")
def test_a_release_that_lacks_a_function_is_not_given_up(monkeypatch, capsys):
    monkeypatch.setattr(history_run, "MAX_CRASHES", 1)
    assert run_history("--versions", "1.7") == 0
    assert "given up" not in capsys.readouterr().err


@pytest.mark.usefixtures("releases")
def test_crashes_that_the_ledger_describes_do_not_count(monkeypatch, tmp_path):
    monkeypatch.setattr(history_run, "MAX_CRASHES", 1)
    (tmp_path / "ledger.yaml").write_text(KNOWN_CRASH, "utf-8")
    monkeypatch.setattr(history_run, "ledger_for", lambda _backend: load_ledger(tmp_path / "ledger.yaml"))
    assert run_history("--versions", "1.6") == 0


class InlineWorkers:
    """Workers that run each item in this process, where the backend is the fake."""

    def __init__(self, size):
        self.size = size

    def submit(self, items):
        for item in reversed([*items]):
            yield item, item.function(*item.arguments)


@only_nightly
def test_releases_that_run_at_the_same_time_give_the_same_history(releases, monkeypatch, tmp_path, capsys):
    assert run_history("--versions", "1.1..1.4") == 0
    expected, folder = capsys.readouterr().out, tmp_path / "build/conformance/history"
    before = json.loads((folder / "selected/fake/history.json").read_text("utf-8"))
    monkeypatch.setattr(history, "ProcessWorkers", InlineWorkers)
    assert run_history("--versions", "1.1..1.4", "--parallel", "2") == 0
    assert capsys.readouterr().out == expected
    assert json.loads((folder / "selected/fake/history.json").read_text("utf-8")) == before
    assert releases[4:] == ["1.4.0", "1.3.0", "1.2.0", "1.1.0"]
    assert run_history("--versions", "1.1..1.4", "--parallel", "2", "--resume") == 0
    assert len(releases) == 8


@only_nightly
@pytest.mark.usefixtures("releases")
def test_releases_that_cannot_be_run_in_parallel_are_named(monkeypatch, capsys):
    monkeypatch.setattr(history, "ProcessWorkers", InlineWorkers)
    assert run_history("--versions", "1.3..1.5", "--parallel", "2") == 3
    shown = capsys.readouterr()
    assert "2 releases, 1 changed answers" in shown.out
    assert shown.err.count("fakenet 1.5.0: cannot be imported: ModuleNotFoundError") == 1


@pytest.mark.usefixtures("releases")
@pytest.mark.parametrize(
    "options",
    [("--parallel", "2", "--scheduler", "local"), ("--bisect", "--surface", "fake.surface", "--parallel", "2")],
)
def test_options_of_parallel_runs_are_checked(options, capsys):
    assert run_history("--versions", "1.4", *options) == 2
    assert "--parallel" in capsys.readouterr().err


def test_bisection_installs_few_releases(releases, capsys):
    assert run_history("--versions", "1.0..1.3", "--surface", "fake.surface", "--bisect") == 0
    assert "changed in 1.2.0" in capsys.readouterr().out
    assert len(releases) == len(set(releases)) <= math.ceil(math.log2(5)) + 2


def older_program(version):
    """Return the fake backend with a program that depends on the version."""
    surface = fake_backends.surface("fake.surface", f"x = fakenet.answer(x)  # for {version}")
    return fake_backends.backend(surface, setup=f"{fake_backends.SETUP}import fakenet\n", packages=("fakenet", "numpy"))


@pytest.mark.usefixtures("releases")
def test_older_programs_are_run_where_program_and_answer_changed(tmp_path, monkeypatch, conformance):
    monkeypatch.setattr(
        history_run.registry,
        "backend_of_release",
        lambda name, version: replace(older_program(version), name=name),
    )
    assert run_history("--versions", "1.0..1.2", "--per-minor") == 0
    folder = tmp_path / "build/conformance/history/selected/fake"
    assert {path.stem for path in folder.glob("*.jsonl")} == {"1.0.1", "1.1.0", "1.2.0", "1.2.0-with-1.1.0"}
    records = [json.loads(line) for line in (folder / "1.2.0-with-1.1.0.jsonl").read_text("utf-8").splitlines()]
    assert records[0]["backend"] == "fake@1.2.0-with-1.1.0"
    assert records[0]["environment"]["packages"]["fakenet"] == "1.2.0"
    assert "# for 1.1.0" in next(one["text"] for one in records if one["record"] == "program")
    assert conformance("compat", folder, "--out", tmp_path / "data.json")[0] == 0
    data = json.loads((tmp_path / "data.json").read_text("utf-8"))
    assert [one.get("cause") for one in data["records"][0]["ranges"]] == [None, "release"]
    file = folder / "1.2.0-with-1.1.0.jsonl"
    before = file.stat().st_mtime_ns
    assert run_history("--versions", "1.0..1.2", "--per-minor", "--resume") == 0
    assert file.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("--versions", "7.0"),
        ("--versions", "new"),
        ("--case", "no/such/case", "--versions", "1.0"),
        ("--python", "/no/such/python"),
        ("--bisect",),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(releases, arguments, capsys):
    assert run_history(*arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    (message,) = [line for line in lines if line and not line.startswith(("Usage: ", "Try "))]
    assert message.startswith(("conformance: ", "Error: "))
    assert releases == []


def test_a_backend_without_releases_is_rejected(capsys):
    with pytest.raises(SystemExit) as end:
        main(["history", "--backend", "numpy"])
    assert end.value.code == 2
    assert "has no releases that pip installs" in capsys.readouterr().err
