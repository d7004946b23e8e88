"""`conformance ledger`, with results of a fake backend."""

import json

import pytest
import yaml

from conformance.adapters import registry
from conformance.cases.schema import catalogue_folder
from conformance.judging import ledger, ledger_entry
from tests.support.fake_backends import CRASHES, backend, family, surface

X = "x: {values: arange, shape: [1, 1, 5, 5]}"
CASES = [
    f"id: plain, {X}, window: 2",
    f"id: wide, {X}, window: 3",
    f"id: strided, {X}, window: 2, stride: 1",
    f"id: wide-strided, {X}, window: 3, stride: 1",
    "id: double, x: {values: arange, shape: [1, 1, 5, 5], dtype: float64}, window: 3",
    f"id: later, {X}, window: 3, stride: 2, level: standard",
]
REASON = "It takes the least of a wide window, for all we know."
WIDE = "x = np.lib.stride_tricks.sliding_window_view(x, {window}, axis=(2, 3))[:, :, ::{step}, ::{step}]"
ENTRY = """\
entries:
  # Known for long.
  - id: other
    cases: [max_pool/gone]
    surfaces: [numpy.loops]
    kinds: [dtype]
    reason: It is quite another matter.
"""


def wrong_value(step, window, body="x = x.min(axis=(-2, -1))"):
    """Return the right values, except for windows of one size in float32, for which `body` is added."""
    walk = WIDE.format(window=step.window, step=step.stride[0])
    return (walk, body if step.window == window and step.dtype == "float32" else "x = x.max(axis=(-2, -1))")


def wrong(name, window=(3, 3), body="x = x.min(axis=(-2, -1))", **keywords):
    kept = surface(name, **keywords)
    kept.lowerings["max_pool"] = lambda step: wrong_value(step, window, body)
    return kept


@pytest.fixture(autouse=True)
def ledger_file(tmp_path, monkeypatch):
    """Run every command in its own temporary folder with its own ledger; return the ledger file."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ledger.yaml"
    path.write_text(ENTRY, "utf-8")
    monkeypatch.setattr(ledger, "ledger_path", lambda: path)
    return path


@pytest.fixture
def ran(tmp_path, monkeypatch, conformance):
    """Return a function that runs the cases on fake surfaces and returns the options for these cases."""

    def run(*surfaces, status=1, cases=CASES):
        path = family(tmp_path, *cases)
        monkeypatch.setattr(registry, "get_backend", lambda *_: backend(*surfaces, name="numpy", trusted=True))
        assert conformance("run", "--backend", "numpy", "--cases", path)[0] == status
        return ["--cases", path]

    return run


@pytest.fixture
def add(conformance):
    def command(*arguments, case="*", reason=REASON):
        return conformance("ledger", "add", "--case", case, "--reason", reason, *arguments)

    return command


def entry(out):
    (found,) = yaml.safe_load(out)
    return found


def test_help_of_add_has_an_example(conformance):
    status, out, _ = conformance("ledger", "add", "--help")
    assert status == 0
    assert "Example: conformance ledger add " in out


def test_entry_selects_what_the_failures_have_in_common(ran, add):
    status, out, notes = add(*ran(wrong("numpy.loops"), surface("numpy.right")))
    assert status == 0
    found = entry(out)
    versions = found.pop("versions")
    assert found == {
        "id": "numpy-max-pool-value",
        "where": {"dtype": "float32", "window": 3},
        "surfaces": ["numpy.loops"],
        "kinds": ["value"],
        "observed": "0.0 instead of 12.0, at [0, 0, 0, 0] of max_pool/wide",
        "reason": REASON,
    }
    assert list(versions) == ["numpy"]
    assert any(note.startswith("versions: the tested minor version (numpy ") for note in notes)
    assert any(
        "covers 2 failing cases on 1 surface, and matches 1 case without a result, such as max_pool/later" in note
        for note in notes
    )


def test_a_written_entry_makes_the_failures_known(ran, add, ledger_file, conformance):
    options = ran(wrong("numpy.loops"))
    before = ledger_file.read_text("utf-8")
    assert add(*options)[0] == 0
    assert ledger_file.read_text("utf-8") == before
    status, out, notes = add(*options, "--write", "--id", "wide", "--observed", "The least.")
    assert (status, notes[-1]) == (0, f"written to {ledger_file}")
    assert ledger_file.read_text("utf-8").startswith(before)
    assert entry(out)["observed"] == "The least."
    assert ran(wrong("numpy.loops"), status=0)
    assert conformance("ledger", *options)[1].splitlines() == [
        "other      0 cases  numpy.loops",
        "wide       3 cases  numpy.loops",
    ]


def test_the_same_results_can_be_used_for_several_entries(ran, add):
    options = ran(wrong("numpy.one"), wrong("numpy.two", (2, 2)))
    first = entry(add(*options, "--surface", "*.one", "--write")[1])
    second = entry(add(*options, "--write")[1])
    assert (first["surfaces"], first["where"]) == (["numpy.one"], {"dtype": "float32", "window": 3})
    assert (second["surfaces"], second["where"]) == (["numpy.two"], {"window": 2})
    assert (first["id"], second["id"]) == ("numpy-max-pool-value", "numpy-max-pool-value-2")
    status, _, errors = add(*options)
    assert (status, errors) == (2, ["conformance: no case that matches * has a failure without a ledger entry"])


def test_entry_does_not_cover_failures_that_are_not_selected(ran, add):
    options = ran(wrong("numpy.loops"))
    assert entry(add(*options, case="*/wide-strided")[1])["where"] == {"window": 3, "stride": 1}


def test_entry_lists_ids_if_no_selector_is_exact(tmp_path, ran, add):
    flag = tmp_path / "flag"
    fickle = f"x = x.max(axis=(-2, -1)) - (not os.path.exists({str(flag)!r})); open({str(flag)!r}, 'w').close()"
    twin = CASES[1].replace("id: wide", "id: wide-again")
    options = ran(wrong("numpy.loops", body=fickle), cases=[*CASES, twin])
    found = entry(add(*options)[1])
    assert (found["cases"], "where" in found) == (["max_pool/wide"], False)


@pytest.mark.parametrize(
    ("body", "kind", "observed"),
    [
        ("x = x.max(axis=(-2, -1)).astype(np.float64)", "dtype", "returned dtype float64, not float32"),
        ("x = x.max(axis=(-2, -1)) * np.nan", "special", "nan instead of 12.0, at [0, 0, 0, 0]"),
        ("raise ValueError('not\\nfor me')", "rejected", "not for me"),
        (CRASHES, "crashed", "signal 6"),
        ("x = x[0, :, :, :, 0, 0]", "shape", "returned shape [1, 1, 1], not [1, 1, 1, 1]"),
    ],
)
def test_observed_result_comes_from_the_smallest_failing_case(ran, add, body, kind, observed):
    found = entry(add(*ran(wrong("numpy.loops", body=body)))[1])
    assert found["kinds"] == [kind]
    assert observed in found["observed"]
    assert "max_pool/wide" in found["observed"]


def test_no_failure_is_an_error_of_one_line(ran, add):
    options = ran(surface("numpy.loops"), status=0)
    says = "no case that matches max_pool/* has a failure without a ledger entry"
    assert add(*options, case="max_pool/*") == (2, "", [f"conformance: {says}"])


def test_no_results_is_an_error_of_one_line(add):
    status, _, errors = add()
    assert (status, len(errors)) == (3, 1)
    assert "no results in build/conformance/results" in errors[0]
    assert add("nothing.jsonl")[2] == ["conformance: nothing.jsonl: cannot be read: No such file or directory"]


def test_incomplete_results_are_an_error(ran, add, tmp_path):
    options = ran(wrong("numpy.loops"))
    path = tmp_path / "build/conformance/results/numpy.jsonl"
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    status, _, errors = add(path, *options)
    assert (status, len(errors)) == (3, 1)
    assert "the run is incomplete" in errors[0]


def test_results_of_other_cases_are_an_error(ran, add, tmp_path):
    ran(wrong("numpy.loops"))
    other = family(tmp_path, *CASES[:2], name="other.yaml")
    status, _, errors = add("--cases", other)
    assert (status, errors) == (
        2,
        ["conformance: backend numpy: the run used another catalogue; run it again"],
    )


def test_failures_of_several_kinds_become_one_entry_with_all_kinds(ran, add):
    surfaces = wrong("numpy.one"), wrong("numpy.one.more", body=CRASHES)
    options = ran(*surfaces)
    status, out, notes = add(*options, "--write")
    found = entry(out)
    assert (status, found["id"], found["kinds"]) == (0, "numpy-max-pool-crashed-value", ["crashed", "value"])
    assert (
        "kinds: crashed (max_pool/wide on numpy.one.more), value (max_pool/wide on numpy.one); "
        "if their reasons differ, add one entry for each with --case or --surface"
    ) in notes
    assert ran(*surfaces, status=0)


def test_one_kind_of_several_can_be_selected(ran, add):
    options = ran(wrong("numpy.one"), wrong("numpy.two", (2, 2), CRASHES))
    assert entry(add(*options, "--surface", "*.two")[1])["kinds"] == ["crashed"]


def test_cases_that_fail_on_one_surface_and_agree_on_another_need_two_entries(ran, add):
    options = ran(wrong("numpy.one"), wrong("numpy.two", (2, 2)))
    status, _, errors = add(*options)
    assert (status, len(errors)) == (2, 1)
    assert "but not on numpy." in errors[0]


def test_failure_of_another_kind_than_its_entry_is_an_error(ran, add, ledger_file):
    ledger_file.write_text(ENTRY.replace("max_pool/gone", "max_pool/wide"), "utf-8")
    status, _, errors = add(*ran(wrong("numpy.loops")))
    assert (status, len(errors)) == (2, 1)
    assert "max_pool/wide on numpy.loops: entry other has this case with kind dtype, not with value" in errors[0]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--id", "other"], "conformance: new entry: entry other: duplicate id"),
        (["--id", "Not One"], "conformance: new entry: entry Not One: key 'id'"),
        (["--issue", "bug 7"], "key 'issue'"),
    ],
)
def test_an_invalid_entry_is_not_written(ran, add, ledger_file, options, says):
    before = ledger_file.read_text("utf-8")
    status, out, errors = add(*ran(wrong("numpy.loops")), "--write", *options)
    assert (status, out, len(errors)) == (2, "", 1)
    assert says in errors[0]
    assert ledger_file.read_text("utf-8") == before


@pytest.mark.parametrize("reason", ["planted", " " * 30])
def test_short_reason_is_an_error_that_says_what_a_reason_needs(add, reason):
    status, out, (error,) = add(reason=reason)
    assert (status, out) == (2, "")
    needed = "a sentence of at least 20 characters that says why the backend differs"
    assert f"{' '.join(repr(reason).split())} is not {needed}" in error


def test_limit_of_a_reason_is_that_of_the_schema():
    schema = json.loads((catalogue_folder() / ledger.LEDGER_SCHEMA_FILE).read_text("utf-8"))
    reason = schema["$defs"]["entry"]["properties"]["reason"]
    assert reason["minLength"] == ledger_entry.MIN_REASON_LENGTH


@pytest.mark.parametrize("missing", ["--case", "--reason"])
def test_case_and_reason_must_be_given(conformance, missing):
    given = {"--case": "*", "--reason": REASON}
    given.pop(missing)
    status, _, errors = conformance("ledger", "add", *(word for pair in given.items() for word in pair))
    assert (status, len(errors)) == (2, 1)
    assert missing in errors[0]


def test_entries_are_listed_with_cases_and_surfaces(conformance, monkeypatch):
    monkeypatch.undo()
    status, out, _ = conformance("ledger")
    entries = ledger.load_ledger().entries
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == [one.id for one in entries]
    assert all(one.surfaces[-1] in line for one, line in zip(entries, out.splitlines(), strict=True))
    assert not any(line.split()[1] == "0" for line in out.splitlines())
