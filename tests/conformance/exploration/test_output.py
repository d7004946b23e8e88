"""Output files of an exploration, promotion of findings, and error messages about both."""

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.catalogue import loading
from conformance.cli.commands import explore
from conformance.exploration.candidate import Candidate
from conformance.exploration.findings import ExplorationFinding
from conformance.exploration.output import write_cases_and_scripts
from conformance.exploration.promote import promote_finding
from conformance.exploration.symptoms import OracleName, Symptom
from reports.results.exploration import OracleKind
from reports.results.vocabulary import DifferenceKind
from tests.support.nightly import only_nightly

LEVELS = {
    "rank": 1, "batch": 1, "channels": 1, "extent": (2,), "window": (2,), "stride": (1,), "dilation": (1,),
    "padding": 0, "rounding": "floor", "values": "integers", "dtype": "float32",
}  # fmt: skip
VALUE = Symptom(DifferenceKind.VALUE)
SHIFT_VIOLATED = Symptom(None, oracle=OracleName(OracleKind.RELATION, "shift"))
UNTIED = Candidate("max_pool", LEVELS, {"x": {"values": "integers"}})

TIED = Candidate(
    "max_pool_with_indices",
    {**LEVELS, "output": "indices"},
    {"x": {"values": "integers", "low": 0, "high": 0}},
    {"x": [[[-0.0, 0.0]]]},
)


def finding_of(candidate=UNTIED, **changed):
    return ExplorationFinding(**{
        "operator": candidate.operator, "symptom": VALUE, "candidate": candidate, "surfaces": ("numpy.loops",),
        "conditions": None, "first_number": 1, **changed,
    })  # fmt: skip


def write_output(folder, *findings, backend="numpy"):
    write_cases_and_scripts(folder, registry.get_backend(backend), findings)
    return folder


@pytest.fixture
def home(tmp_path):
    """A catalogue with one case."""
    path = tmp_path / "home" / "pooling" / "max_pool.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        "operator: max_pool\nsource: here\n\ncases:\n  - id: one\n    x: {values: [[[1, 2]]]}\n    window: [1]\n",
        "utf-8",
    )
    return tmp_path / "home"


def case_file(folder):
    return folder / "cases" / "numpy" / "pooling" / "max_pool.yaml"


@pytest.mark.parametrize("part", ["", "results", "cases", "repro"])
def test_an_unwritable_folder_is_reported_in_one_line_before_the_exploration(part, conformance, monkeypatch, tmp_path):
    monkeypatch.setattr(explore, "_explore_backend", lambda *_: pytest.fail("the exploration started"))
    taken = tmp_path / "out" / part
    taken.parent.mkdir(parents=True, exist_ok=True)
    taken.write_text("a file", "utf-8")
    out = tmp_path / "out" / ("" if part else "below")
    status, _, err = conformance("explore", "--backend", "numpy", "--operator", "pad", "--cases", 3, "--out", out)
    assert status == 2
    assert err[-1].startswith(f"conformance: {out / part}")


def test_a_folder_that_disappears_is_an_error(tmp_path):
    (tmp_path / "cases").write_text("a file", "utf-8")
    with pytest.raises(ConformanceError, match=r"cases.*: (Not a directory|File exists)"):
        write_output(tmp_path, finding_of())


@pytest.mark.parametrize("option", ["--minutes", "--timeout"])
def test_nan_is_rejected_as_an_option(option, conformance, tmp_path):
    status, _, err = conformance("explore", "--backend", "numpy", option, "nan", "--out", tmp_path)
    assert status == 2
    assert f"Invalid value for '{option}': nan is not a number" in err[-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"operator: max_pool\n  # ID\n\xff", ":3: not UTF-8"),
        (b"operator: max_pool\nsource: x\n  # ID\n", ": cases are missing"),
        (b"operator: max_pool\ncases:\n  # ID\n  - 7\n", ": cases are missing, or a case has no id"),
        (b"operator: max_pool\ncases:\n  # ID\n  - window: [1]\n", ": cases are missing, or a case has no id"),
        (b"cases:\n  # ID\n  - id: one\n", ": operator is missing"),
        (b"  # ID\n", ": operator is missing"),
        (b"operator: [\n  # ID\n", ":"),
    ],
)
def test_an_invalid_case_file_is_reported_in_one_line(content, message, conformance, tmp_path, home):
    path = case_file(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    status, _, err = conformance("explore", "--promote", "ID", "--out", tmp_path, "--into", home)
    assert status == 2
    assert f"{path}{message}" in err[-1]


def test_an_invalid_catalogue_file_is_reported_in_one_line(conformance, tmp_path, home):
    finding = finding_of()
    path = home / "pooling" / "max_pool.yaml"
    path.write_bytes(b"\xff" + path.read_bytes())
    where = ("--out", write_output(tmp_path, finding), "--into", home)
    status, _, err = conformance("explore", "--promote", finding.id, *where)
    assert status == 2
    assert f"{path}:1: not UTF-8" in err[-1]


def test_findings_with_the_same_smallest_case_can_all_be_promoted(tmp_path, home):
    last = finding_of(UNTIED.with_levels(extent=(3,)))
    findings = [finding_of(), finding_of(symptom=SHIFT_VIOLATED), last]
    folder = write_output(tmp_path, *findings)
    loaded = loading.load_catalogue([case_file(folder)]).cases
    assert [case.id for case in loaded] == [UNTIED.case.id, last.candidate.case.id]
    assert all(one.sentence in loaded[0].about for one in findings[:2])
    for number, one in enumerate(findings):
        promote_finding(folder, one.id, home, f"found-{number}")
    found = loading.load_catalogue([home]).by_id
    assert [found[f"max_pool/found-{number}"].shape for number in range(3)] == [(1, 1, 2), (1, 1, 2), (1, 1, 3)]


def test_a_finding_comment_without_a_case_is_ignored(tmp_path, home):
    finding = finding_of()
    path = case_file(write_output(tmp_path, finding))
    path.write_text(path.read_text("utf-8") + "  # max_pool-alone\n", "utf-8")
    with pytest.raises(ConformanceError, match=f"the findings are {finding.id}$"):
        promote_finding(tmp_path, "max_pool-alone", home)


def test_each_backend_has_its_own_script(tmp_path):
    finding = finding_of()
    write_output(tmp_path, finding)
    write_output(tmp_path, finding, backend="numpy@other")
    scripts = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("repro/**/*.py"))
    assert scripts == [f"repro/numpy/{finding.id}.py", f"repro/numpy@other/{finding.id}.py"]


@only_nightly
def test_an_exploration_deletes_earlier_output_of_its_backend(conformance, tmp_path):
    write_output(tmp_path, finding_of())
    write_output(tmp_path, finding_of(), backend="numpy@other")
    own = tmp_path / "cases" / "numpy" / "notes.txt"
    own.write_text("of somebody", "utf-8")
    status, _, _ = conformance(
        "explore", "--backend", "numpy", "--operator", "pad", "--cases", 3, "--jobs", 1, "--out", tmp_path
    )
    assert status == 0
    remaining = [path.parent.name for path in (*tmp_path.glob("cases/**/*.yaml"), *tmp_path.glob("repro/**/*.py"))]
    assert remaining == ["pooling", "numpy@other"]
    assert not case_file(tmp_path).exists()
    assert own.exists()


def test_earlier_output_remains_if_the_exploration_cannot_start(conformance, tmp_path):
    write_output(tmp_path, finding_of())
    backend = f"numpy={tmp_path / 'python'}"
    status, _, _ = conformance("explore", "--backend", backend, "--cases", 5, "--out", tmp_path)
    assert status == 3
    assert case_file(tmp_path).exists()


def test_a_finding_that_observes_a_convention_cannot_be_promoted(conformance, tmp_path, home):
    untied, tied = finding_of(TIED.with_numbers(x=[[[0.0, 1.0]]])), finding_of(TIED)
    path = home / "pooling" / "max_pool_with_indices.yaml"
    path.write_text("operator: max_pool_with_indices\nsource: here\n", "utf-8")
    folder = write_output(tmp_path, untied, tied)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.yaml")}
    status, _, err = conformance("explore", "--promote", tied.id, "--out", folder, "--into", home)
    assert status == 2
    assert err == [
        f"conformance: finding {tied.id} observes the convention max_pool_with_indices/tie and"
        " max_pool/zeros-of-both-signs; add it by hand as a convention case"
    ]
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.yaml")} == before
    assert promote_finding(folder, untied.id, home) == (path, untied.candidate.case.id)
