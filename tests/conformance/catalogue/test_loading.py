import re

import pytest

from conformance import CatalogueError
from conformance.catalogue import loading as catalogues
from conformance.system import packed_sequence
from tests.support.fake_backends import family, load

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
SOUND = f"id: a, {X}, window: 2"


def refusals(*paths):
    with pytest.raises(CatalogueError) as refused:
        catalogues.load_catalogue(paths)
    return str(refused.value).splitlines()


def test_id_used_twice_is_rejected_naming_both_places(tmp_path):
    path = family(tmp_path, f"id: a, {X}, window: 2", f"id: a, {X}, window: 3")
    assert refusals(path) == [f"{path}:5: duplicate case id max_pool/a, first defined at {path}:4"]


def test_id_used_twice_across_files_is_rejected_naming_both(tmp_path):
    one = family(tmp_path, f"id: a, {X}, window: 2", name="one.yaml")
    two = family(tmp_path, f"id: a, {X}, window: 2", name="two.yaml")
    assert refusals(one, two) == [f"{two}:4: duplicate case id max_pool/a, first defined at {one}:4"]


def test_errors_of_all_files_are_reported_at_once(tmp_path):
    one = family(tmp_path, "id: a", name="one.yaml")
    two = tmp_path / "two.yaml"
    two.write_text("a: [", "utf-8")
    assert [line.split(":")[0] for line in refusals(one, two, one)] == [str(one), str(one), str(two)]


def test_folder_is_read_one_level_down(tmp_path):
    (tmp_path / "pooling").mkdir()
    family(tmp_path / "pooling", f"id: a, {X}, window: 2")
    (tmp_path / "ledger.yaml").write_text("not a catalogue file", "utf-8")
    assert list(catalogues.load_catalogue([tmp_path]).by_id) == ["max_pool/a"]


def test_path_that_does_not_exist_is_one_line(tmp_path):
    assert refusals(tmp_path / "nothing") == [f"{tmp_path / 'nothing'}: no such file or folder"]


def test_folder_without_cases_is_one_line(tmp_path):
    assert len(refusals(tmp_path)) == 1
    assert refusals(tmp_path)[0].startswith(f"{tmp_path}: contains no case files")


def test_file_without_cases_is_one_line(tmp_path):
    path = tmp_path / "empty.yaml"
    path.write_text("operator: conv\nsource: s\ncases: []\n", "utf-8")
    assert refusals(path) == [f"{path}: contains no cases"]


def test_digest_does_not_depend_on_the_order_of_cases(tmp_path):
    texts = [f"id: a, {X}, window: 2", f"id: b, {X}, window: 3"]
    assert load(tmp_path, *texts).digest == load(tmp_path, *texts[::-1]).digest


@pytest.mark.parametrize(
    "other",
    [
        f"id: b, {X}, window: 2",
        f"id: a, {X}, window: 3",
        f"id: a, {X}, window: 2, stride: 1",
        "id: a, x: {values: arange, shape: [1, 1, 4, 4], start: 1}, window: 2",
        f"id: a, {X}, window: 2, expect: [[[[5, 7], [13, 15]]]]",
        f"id: a, {X}, window: 2, via: [pad, max_pool]",
        f"id: a, {X}, window: 2, then: [{{operator: max_pool, window: 2}}]",
    ],
)
def test_digest_depends_on_all_that_a_case_means(tmp_path, other):
    assert load(tmp_path, f"id: a, {X}, window: 2").digest != load(tmp_path, other).digest


def test_digest_does_not_depend_on_how_a_meaning_is_written(tmp_path):
    short = load(tmp_path, f"id: a, {X}, window: 2").digest
    assert short == load(tmp_path, f"id: a, {X}, window: [2, 2], stride: 2, about: other words").digest


def test_level_holds_the_levels_below(tmp_path):
    cases = load(tmp_path, f"id: a, {X}, window: 2", f"id: b, {X}, window: 2, level: standard")
    assert [case.id for case in cases.select("smoke")] == ["max_pool/a"]
    assert len(cases.select("standard")) == len(cases.select("exhaustive")) == 2


def test_selection_is_by_operator_and_by_glob(tmp_path):
    cases = load(tmp_path, f"id: ab, {X}, window: 2", f"id: cd, {X}, window: 2")
    assert [case.id for case in cases.select(globs=["*/a*"])] == ["max_pool/ab"]
    assert cases.select(operators=["conv"]) == []
    assert cases.select(globs=["ab"]) == []


def test_smoke_holds_the_whole_book(catalogue):
    assert all(case.level == "smoke" for case in catalogue.cases if "/book-" in case.id)
    assert sum("/book-" in case.id for case in catalogue.cases) > 30


def test_every_case_of_the_suite_has_a_source(catalogue):
    assert all(case.source.strip() for case in catalogue.cases)


def test_empty_folder_beside_a_good_file_is_named(tmp_path):
    path = family(tmp_path, f"id: a, {X}, window: 2")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refusals(path, empty) == [f"{empty}: contains no case files (expected <family>/<operator>.yaml)"]


def test_error_of_one_case_hides_no_error_of_another_in_the_file(tmp_path):
    path = family(tmp_path, SOUND.replace("window: 2", "windw: 2"), SOUND.replace("id: a", "id: b, via: [conv]"), SOUND)
    assert [line.split(":")[1] for line in refusals(path)] == ["4", "5"]


def test_valid_cases_of_a_file_with_errors_are_still_there_to_examine(tmp_path):
    found, faults = catalogues.load_with_errors([family(tmp_path, SOUND, SOUND.replace("id: a", "id: b, stride: x"))])
    assert [case.id for case in found.cases] == ["max_pool/a"]
    assert len(faults) == 1


def test_items_of_one_line_with_the_same_error_are_not_read(tmp_path):
    item = "{id: a, x: '', window: [3]}"
    path = tmp_path / "cases.yaml"
    path.write_text(f"{{operator: max_pool, source: a test, cases: [{item}, {item}]}}")
    (line,) = refusals(path)
    assert "case a: key 'x': '' is not an array" in line


def test_file_without_an_operator_names_that_and_no_case(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(f"operator: max_pol\nsource: s\ncases: [{{{SOUND}, via: [conv]}}]\n", "utf-8")
    (said,) = refusals(path)
    assert said.startswith(f"{path}:1: key 'operator': 'max_pol' is not an operator")
    assert said.endswith(", did you mean 'max_pool'?")


def test_file_without_a_source_is_read_on(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(f"operator: max_pool\ncases:\n  - {{{SOUND}, via: [conv]}}\n", "utf-8")
    assert [line.split(":")[1] for line in refusals(path)] == ["1", "3"]


def test_cached_built_in_catalogue_equals_a_new_one():
    cached, new = catalogues.load_catalogue(), catalogues._load_paths()
    assert cached.digest == new.digest
    assert cached.version == new.version
    assert [case.canonical_text() for case in cached.cases] == [case.canonical_text() for case in new.cases]
    assert [(case.location, case.about, case.source, case.level, case.tags) for case in cached.cases] == [
        (case.location, case.about, case.source, case.level, case.tags) for case in new.cases
    ]


def many_cases(folder, text, count=200):
    return family(folder, *(text.format(n) for n in range(count)))


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("id: a{}, x: {{values: arange, shape: [1, 1, 4]}}, windw: 2", "and more; 179 cases were not checked"),
        ("id: a{}, x: {{values: arange, shape: [1, 1, 4]}}, window: 0", "and more; 179 cases were not checked"),
        ("id: a, about: '{}', x: {{values: arange, shape: [1, 1, 4]}}, window: 2", "and 179 more"),
    ],
    ids=["unknown key", "invalid parameters", "duplicate id"],
)
def test_only_the_first_errors_of_a_file_are_listed(tmp_path, text, more):
    path = many_cases(tmp_path, text)
    _, errors = catalogues.load_with_errors([path])
    assert len(errors) == catalogues.MAX_FILE_ERRORS + 1
    assert errors[-1] == f"{path}: {more}"
    assert [int(error.split(":")[1]) for error in errors[:-1]] == sorted(int(e.split(":")[1]) for e in errors[:-1])


def test_all_errors_are_listed_up_to_the_limit(tmp_path):
    text = "id: a{}, x: {{values: arange, shape: [1, 1, 4]}}, windw: 2"
    _, errors = catalogues.load_with_errors([many_cases(tmp_path, text, catalogues.MAX_FILE_ERRORS)])
    assert len(errors) == catalogues.MAX_FILE_ERRORS
    assert all("windw" in error for error in errors)


def test_number_of_cases_read_so_far_is_reported_for_every_hundredth_case(tmp_path):
    path, counts = family(tmp_path, *(f"id: a{number}, {X}, window: 2" for number in range(250))), []
    catalogues.load_catalogue([path], progress=counts.append)
    assert counts == [100, 200]


SWEEP = (
    "id: s, level: exhaustive, cover: all, x: {values: integers, low: 0, high: 9}, "
    "factors: {rank: [1], extent: [9, 10], window: [1, 2, 3], stride: [1, 2], dtype: [float32, int8]}"
)


@pytest.fixture
def few_unpacked(monkeypatch):
    for module in (packed_sequence, catalogues):
        monkeypatch.setattr(module, "MAX_UNPACKED_ITEMS", 5)
    monkeypatch.setattr(packed_sequence, "ITEMS_PER_BLOCK", 4)


def test_packed_cases_equal_the_cases_of_the_file(tmp_path, request):
    path = family(tmp_path, SWEEP, section="sweeps")
    complete = catalogues.load_catalogue([path], level="exhaustive")
    request.getfixturevalue("few_unpacked")
    packed = catalogues.load_catalogue([path], level="exhaustive")
    assert isinstance(packed.cases, packed_sequence.PackedSequence)
    assert len(packed.cases) == 24
    assert packed.digest == complete.digest
    for found in (packed.cases, packed.select("exhaustive")):
        assert [case.canonical_text() for case in found] == [case.canonical_text() for case in complete.cases]


@pytest.mark.usefixtures("few_unpacked")
def test_id_used_twice_among_packed_cases_is_rejected(tmp_path):
    path = family(tmp_path, *[f"id: n{n}, {X}, window: 2" for n in (*range(20), 19)])
    assert refusals(path) == [f"{path}:24: duplicate case id max_pool/n19, first defined at {path}:23"]


def test_the_built_in_catalogue_is_not_packed_because_it_is_cached():
    assert isinstance(catalogues.load_catalogue().cases, tuple)


def test_the_cases_of_conventions_are_those_of_the_whole_catalogue():
    known = catalogues.load_catalogue().cases
    operators = {case.operator for case in known}
    for operator in operators:
        own = {case.id for case in known if case.operator == operator and case.convention_id is not None}
        assert {case.id for case in catalogues.load_convention_cases(operator)} == own
    assert all(case.convention_id.startswith(f"{case.operator}/") for case in known if case.convention_id is not None)


def test_the_cases_of_a_convention_are_read_without_the_whole_catalogue(monkeypatch):
    monkeypatch.setattr(catalogues, "cached_catalogue", None)
    assert catalogues.load_convention_cases("lp_pool")


NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
NUMBERS |= {"ten": 10, "twelve": 12, "fifteen": 15, "sixteen": 16, "seventeen": 17, "twenty": 20}
STATED_SIZE = re.compile(r"-in-(\d+|[a-z]+)-(images?|channels?|dimensions)(?=-|$)")


def stated_sizes(case):
    """The numbers of images, channels and dimensions in the name of a case, each with that of its input."""
    shape = case.inputs["x"].shape
    actual = {"image": shape[0], "channel": shape[1], "dimension": len(shape) - 2}
    for number, unit in STATED_SIZE.findall(case.id.partition("/")[2]):
        stated = int(number) if number.isdigit() else NUMBERS.get(number)
        if stated is not None:
            yield stated, actual[unit.removesuffix("s")]


def test_a_name_states_the_numbers_of_images_channels_and_dimensions_of_its_case(catalogue):
    # The input of affine_grid is a batch of matrices.
    images = (case for case in catalogue.cases if "x" in case.inputs and not case.operator.startswith("affine_grid"))
    named = {case.id: [*stated_sizes(case)] for case in images}
    assert sum(map(bool, named.values())) > 500
    assert not [name for name, sizes in named.items() if any(stated != actual for stated, actual in sizes)]
