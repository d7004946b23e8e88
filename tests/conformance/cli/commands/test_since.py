"""`conformance since`."""

import pytest

from conformance.judging.release_answers import release_data_files
from conformance.judging.release_findings import read_findings
from tests.conformance.cli.commands.test_compat import write
from tests.support import example_results as example

CASE = "max_pool/stride-2-padding-1"
WRONG = example.differing(CASE, "alpha.nn", None, {"index": [0], "expected": 15, "got": 14})
RIGHT = example.result(CASE, "alpha.nn")
CEIL = "avg_pool/2d-ceil-padding-1-counted"


@pytest.mark.usefixtures("own_folder")
def test_since_prints_the_releases_of_each_answer(conformance):
    status, out, _ = conformance("since", CEIL, "--surface", "onnxruntime")
    assert status == 0
    assert out.splitlines()[:4] == [
        CEIL,
        "  onnxruntime",
        "    1.15.1 to 1.20.1  differ shape  returned shape [1, 1, 3, 3], not [1, 1, 2, 2]",
        "    1.21.1 to 1.32.0  agree",
    ]
    assert "1.20.1, 1.21.1" in out.splitlines()[-1]


@pytest.mark.usefixtures("own_folder")
def test_since_selects_surfaces(conformance):
    _, out, _ = conformance("since", CEIL, "--surface", "onnxruntime.dynamic")
    assert [line.strip() for line in out.splitlines() if "onnxruntime" in line] == ["onnxruntime.dynamic"]


@pytest.mark.usefixtures("own_folder")
def test_convention_has_the_answers_to_all_its_cases(conformance):
    _, out, _ = conformance("since", "avg_pool/window-larger-than-input", "--surface", "onnxruntime")
    cases = [line for line in out.splitlines() if line.startswith("avg_pool/")]
    assert cases[0] == "avg_pool/window-larger-than-input"
    assert "avg_pool/window-larger-than-input-in-three-dimensions" in cases
    assert out.count("1.15.1 to 1.20.1  empty") == len(cases)


@pytest.mark.usefixtures("own_folder")
def test_ledger_entry_has_the_answers_to_its_cases(conformance):
    status, out, _ = conformance("since", "onnxruntime-power-zero")
    assert status == 0
    assert out.startswith("lp_pool/rejects/power-is-zero\n")
    assert "1.15.1 to 1.32.0  differ accepted" in out


@pytest.mark.usefixtures("own_folder")
def test_finding_has_the_answers_to_the_cases_that_it_names(conformance):
    status, out, _ = conformance("since", "windows-that-exceed-the-input-are-pooled")
    assert status == 0
    cases = [line for line in out.splitlines() if "/" in line and not line.startswith(" ")]
    assert "max_pool/window-larger-than-input" in cases
    assert "    1.21.1 to 1.32.0  other  " in out
    assert "openvino" not in out


@pytest.mark.usefixtures("own_folder")
def test_finding_without_data_about_releases_is_no_unknown_name(conformance):
    name = next(one.name for one in read_findings() if one.page == "paddle")
    status, _, error = conformance("since", name)
    assert status == 3
    assert "no data about releases" in error[0]


@pytest.mark.usefixtures("own_folder")
def test_words_print_the_changes_that_have_them(conformance):
    """A newcomer asks since which release the windows of ceil mode are those of PyTorch."""
    status, out, _ = conformance("since", "ceil PyTorch")
    assert status == 0
    first, _, third, fourth = out.splitlines()
    assert first.startswith("onnx 1.17.0 → 1.18.0  fix: the output size and the divisor of partial windows")
    assert third.startswith(
        "onnxruntime 1.20.1 → 1.21.1  fix: the output size and the divisor of partial windows in ceil"
    )
    assert conformance(*fourth.split()[1:])[0] == 0


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("name", ["max_pool/no-such-case", "no-such-entry", "avg_pool", ""])
def test_unknown_name_is_an_error_of_one_line(conformance, name):
    status, out, errors = conformance("since", name)
    assert (status, out, len(errors)) == (2, "", 1)


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("name", ["numpy-never", CEIL])
def test_unknown_surface_is_an_error_of_one_line(conformance, name):
    status, _, errors = conformance("since", name, "--surface", "numpy.loop")
    assert (status, len(errors)) == (2, 1)


@pytest.mark.usefixtures("own_folder")
def test_name_without_data_is_an_error_of_one_line(conformance):
    status, out, errors = conformance("since", CEIL, "--surface", "numpy.loops")
    assert (status, out) == (3, "")
    known = ", ".join(path.stem for path in release_data_files())
    assert errors == [
        f"conformance: {CEIL}: no data about releases on the selected surfaces (backends with data: {known})"
    ]


def write_with_programs(folder, label, record):
    """Write results of a release whose program has another text than that of the release before."""
    program = example.program("alpha.nn", "def run(x):\n    return x\n")
    lines = [one for one in example.run(f"alpha@{label}", ["alpha.nn"], [record]) if one["record"] != "program"]
    changed = [one | {"program": "another"} if one["record"] == "result" else one for one in lines]
    (folder / f"{label}.jsonl").write_text(
        example.text([*changed[:2], program | {"program": "another"}, *changed[2:]]), "utf-8"
    )


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize(
    ("mixed", "note"),
    [
        (None, ["    1.1 ran another program than 1.0, which may cause the change"]),
        (RIGHT, ["    1.1 ran another program than 1.0. It gives another answer to the program of 1.0"]),
        (WRONG, []),
    ],
)
def test_data_of_a_file_is_used_instead_and_says_what_caused_a_change(conformance, tmp_path, mixed, note):
    folder = tmp_path / "in"
    write(folder, "1.0", RIGHT)
    write_with_programs(folder, "1.1", WRONG)
    if mixed:
        write(folder, "1.1-with-1.0", mixed)
    assert conformance("compat", folder, "--out", tmp_path / "a.json")[0] == 0
    status, out, _ = conformance("since", CASE, "--data", tmp_path / "a.json")
    assert status == 0
    assert out.splitlines() == [
        CASE,
        "  alpha.nn",
        "    1.0  agree",
        "    1.1  differ value  at [0] expected 15, got 14",
        *note,
        "releases run on Linux-6.1.0-x86_64-with-glibc2.36: 1.0, 1.1",
    ]
