import time
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from conformance import CatalogueError
from conformance.cases.yaml_reader import MAX_NESTING_DEPTH, MAX_YAML_BYTES, read_yaml, read_yaml_with_errors


def refusal(tmp_path, content):
    """Return the one-line error message of a file, without the file name at its start."""
    path = tmp_path / "file.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CatalogueError) as refused:
        read_yaml(path)
    message = str(refused.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:")
    return message.removeprefix(f"{path}:")


def data(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_text(text, "utf-8")
    return read_yaml(path).data


def test_places_of_a_printed_decimal_are_kept(tmp_path):
    assert str(data(tmp_path, "- 2.50")[0]) == "2.50"


@pytest.mark.parametrize(("text", "value"), [("-.inf", "-Infinity"), (".inf", "Infinity"), (".NaN", "NaN")])
def test_infinities_and_nan_are_decimals(tmp_path, text, value):
    assert str(data(tmp_path, f"- {text}")[0]) == value


@given(st.lists(st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3)))
def test_numbers_read_back_as_they_were_written(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("yaml") / "file.yaml"
    path.write_text(f"[{', '.join(map(str, numbers))}]", "utf-8")
    found = read_yaml(path).data
    assert [str(number) for number in found] == [str(number) for number in numbers]
    assert [type(number) for number in found] == [type(number) for number in numbers]


def test_integers_are_integers_of_any_size(tmp_path):
    assert data(tmp_path, f"- {10**60}") == [10**60]


def test_number_that_looks_whole_but_has_places_is_a_decimal(tmp_path):
    assert isinstance(data(tmp_path, "- 1.0")[0], Decimal)


def test_each_part_knows_its_line(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("a: 1\nb:\n  - 5\n  - {c: 1,\n     d: 2}\n", "utf-8")
    document = read_yaml(path)
    assert [document.line_of(where) for where in [("a",), ("b", 0), ("b", 1, "c"), ("b", 1, "d")]] == [1, 3, 4, 5]
    assert document.line_of(("b", 1, "unheard", "of")) == 4


def test_alias_bomb_is_rejected_at_its_first_alias(tmp_path):
    bomb = "a: &a [1, 1]\n" + "".join(f"{c}: &{c} [{', '.join(['*a'] * 9)}]\n" for c in "bcdefgh")
    assert refusal(tmp_path, bomb).startswith("2: an alias (*a)")


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.getcwd", "!own"])
@pytest.mark.parametrize("value", ["[1]", "{a: 1}", "word"])
def test_tags_are_rejected(tmp_path, tag, value):
    said = refusal(tmp_path, f"a: 1\nb: {tag} {value}\n")
    assert said.startswith("2: values of type ")
    assert "not allowed" in said


def test_tagged_object_is_never_made(tmp_path):
    marker = tmp_path / "marker"
    refusal(tmp_path, f"a: !!python/object/apply:os.mkdir ['{marker}']\n")
    assert not marker.exists()


@pytest.mark.parametrize("text", ["2020-01-01", "1:30", "0x1f", "!!int abc", "!!binary aGk="])
def test_scalars_other_than_plain_ones_are_rejected(tmp_path, text):
    assert refusal(tmp_path, f"a: 1\nb: {text}").startswith("2: ")


def test_key_that_stands_twice_is_rejected(tmp_path):
    assert refusal(tmp_path, "a: 1\nb: 2\na: 3\n") == "3: duplicate key 'a'"


def test_whatever_can_be_read_past_is_reported_together(tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text("a: 1\nb: !own [1]\na: 3\nc: [2, 1:30]\n", "utf-8")
    with pytest.raises(CatalogueError) as refused:
        read_yaml(path)
    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["2", "3", "4"]
    assert read_yaml_with_errors(path).data == {"a": 1, "b": None, "c": [2, None]}


def test_values_inside_a_rejected_value_have_no_errors_of_their_own(tmp_path):
    text = "a: !own {b: 1:30}\na: [1:30, {c: 1, c: 2}]\n? [1:30]\n: {d: 1:30}\ne: 5\n"
    path = tmp_path / "file.yaml"
    path.write_text(text, "utf-8")
    document = read_yaml_with_errors(path)
    assert document.data == {"a": None, "e": 5}
    assert [document.line_of(key_path) for key_path in document.errors] == [1, 2, 3]


def test_second_document_is_rejected_with_its_line(tmp_path):
    assert refusal(tmp_path, "a: 1\n---\nb: [1\n").startswith("2: a second YAML document begins here")


def test_key_that_is_no_word_is_rejected(tmp_path):
    assert refusal(tmp_path, "a: 1\n? [b]\n: 2\n").startswith("2: a key must be a word")


def test_allowed_depth_is_read_and_one_level_more_is_rejected(tmp_path):
    assert data(tmp_path, "[" * MAX_NESTING_DEPTH + "]" * MAX_NESTING_DEPTH) is not None
    assert "nested more than" in refusal(tmp_path, "\n" + "[" * (MAX_NESTING_DEPTH + 1) + "]" * (MAX_NESTING_DEPTH + 1))


@pytest.mark.parametrize("text", ["[" * 200_000, "a: " + "[" * 5000, "{a: " * 3000, "- " * 100_000])
def test_deep_nesting_is_rejected_at_once_with_its_line(tmp_path, text):
    start = time.monotonic()
    assert refusal(tmp_path, text).startswith("1: nested more than 40 levels deep")
    assert time.monotonic() - start < 2


def test_number_of_absurd_length_is_rejected(tmp_path):
    said = refusal(tmp_path, f"a: {'1' * 5000}")
    assert said.startswith("1: ")
    assert len(said) < 120


def test_file_over_the_limit_is_rejected_unread(tmp_path):
    assert str(MAX_YAML_BYTES) in refusal(tmp_path, b"#" * (MAX_YAML_BYTES + 1))


def test_text_that_is_not_utf_8_is_rejected_with_its_line(tmp_path):
    assert refusal(tmp_path, b"a: 1\nb: \xff\n") == "2: not UTF-8 at byte 8"


def test_control_character_is_rejected_with_its_line(tmp_path):
    assert refusal(tmp_path, "a: 1\nb: 2\nc: '\x07'\n").startswith("3: ")


@pytest.mark.parametrize("text", ["a: [1,\nb: }", "a:\n\t- b", "a: 1\n---\nb: 2\n", "a: 'b", "%"])
def test_text_that_is_not_yaml_is_rejected_with_its_line(tmp_path, text):
    assert refusal(tmp_path, text)[0].isdigit()


@pytest.mark.parametrize("name", ["nothing", "."])
def test_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(CatalogueError, match=rf"^{tmp_path / name}: (No such file|Is a directory)"):
        read_yaml(tmp_path / name)


@given(st.binary(max_size=60))
def test_whatever_bytes_a_file_holds_it_is_read_or_rejected_in_one_line(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("yaml") / "file.yaml"
    path.write_bytes(content)
    said = ""
    try:
        read_yaml(path)
    except CatalogueError as refused:
        said = str(refused)
    assert all(line.startswith(str(path)) for line in said.splitlines())
