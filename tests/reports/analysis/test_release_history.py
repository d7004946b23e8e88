from reports.analysis.release_history import (
    Change,
    Span,
    changes_markdown,
    history_json,
    release_changes,
    release_spans,
)

KEY = ("s", "case")
ANSWERS = {"1.0": {KEY: "a"}, "1.1": {KEY: "a"}, "1.2": {KEY: "b"}, "1.3": {}, "1.4": {KEY: "b"}}


def test_spans_end_where_the_answer_changes_or_is_missing():
    assert release_spans(ANSWERS) == [
        Span(*KEY, "a", "1.0", "1.1"),
        Span(*KEY, "b", "1.2", "1.2"),
        Span(*KEY, "b", "1.4", "1.4"),
    ]


def test_a_change_needs_an_answer_of_both_releases():
    assert release_changes(ANSWERS) == [Change(*KEY, "1.1", "1.2", "a", "b")]


def test_json_names_the_releases_that_add_and_remove_an_answer():
    records = history_json("fake", ANSWERS)["records"]
    assert [(one["answer"], one["version_added"], one["version_removed"]) for one in records] == [
        ("a", None, "1.2"),
        ("b", "1.2", "1.3"),
        ("b", "1.4", None),
    ]


def test_the_page_lists_changes_or_says_that_there_are_none():
    assert "| 1.1 → 1.2 | s | `case` | a | b |" in changes_markdown("fake", list(ANSWERS), release_changes(ANSWERS))
    assert "No answer changed." in changes_markdown("fake", ["1.0"], [])
