"""The number of error messages of a file is limited."""

from conformance.system.error_lines import MAX_FILE_ERRORS, first_errors, sort_errors

MANY = [f"a.yaml:{line}: entry e: {line}" for line in range(1, MAX_FILE_ERRORS + 4)]


def test_messages_up_to_the_limit_are_all_listed():
    assert first_errors(MANY[:MAX_FILE_ERRORS]) == MANY[:MAX_FILE_ERRORS]


def test_further_messages_of_a_file_are_counted():
    other = ["b.yaml:1: surface s: unknown"]
    assert first_errors([*MANY, *other]) == [*MANY[:MAX_FILE_ERRORS], "a.yaml: and 3 more", *other]


def test_messages_without_a_file_are_limited_together():
    surfaces = [f"surface s{number}: declares no answer" for number in range(1_022)]
    assert first_errors(surfaces) == [*surfaces[:MAX_FILE_ERRORS], "and 1,002 more"]


def test_number_of_further_messages_is_sorted_after_the_others_of_its_file():
    lines = [*first_errors(MANY), "b.yaml:3: x", "b.yaml:2: y", "text"]
    shown = sort_errors(reversed(lines))
    assert [line for line in shown if line.startswith("a.yaml")] == lines[: MAX_FILE_ERRORS + 1]
    assert [line for line in shown if line.startswith("b.yaml")] == ["b.yaml:2: y", "b.yaml:3: x"]
