"""Code blocks and sections of Markdown pages."""

from reports.views.markdown_layout import PageSection, fenced_lines, fit_sections


def test_fence_is_longer_than_any_backticks_in_the_text():
    assert fenced_lines("x = 1\n", "python") == ["```python", "x = 1", "```"]
    assert fenced_lines("a\n````\nb", "") == ["`````", "a", "````", "b", "`````"]


def test_control_characters_in_code_are_escaped_except_tabs():
    assert fenced_lines("\ta\x1b[31m", "")[1] == "\ta\\x1b[31m"


def test_section_counts_the_items_that_it_omits():
    section = PageSection(["# Title"], ["- a", "- b", "- c"], ["end"])
    assert section.lines(1) == ["# Title", "- a", "", "*and 2 more*", "end"]
    assert section.lines(3) == ["# Title", "- a", "- b", "- c", "end"]


def test_section_without_space_for_one_item_is_omitted():
    assert PageSection(["# Title"], ["- a" * 10]).fit(20) == ([], 1)


def test_short_page_has_no_note_about_omissions():
    assert fit_sections([PageSection(["a"]), PageSection(["b"])], "Elsewhere.") == "a\n\nb\n"
