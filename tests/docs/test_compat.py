"""The generated pages of the answers of old releases."""

from conformance.judging.release_answers import (
    AnswerRange,
    CaseHistory,
    CatalogueVersion,
    Evidence,
    Release,
    ReleaseData,
)
from docs.generate import compat

RELEASES = ("1.0", "1.1", "1.2", "1.3")


def record(case, *ranges, surface="s", question=None):
    spans = [AnswerRange(answer, None, None, run, Evidence(run[0], "", cause=None)) for answer, run in ranges]
    return CaseHistory(surface, case, question, "ab", tuple(spans))


WRONG_THEN_RIGHT = (("differ value", ("1.0", "1.1")), ("agree", ("1.2", "1.3")))


def data(*records):
    releases = tuple(Release(version, "", "3.11", {}) for version in RELEASES)
    return ReleaseData("fake", CatalogueVersion("1", "ab"), "Linux", (), releases, records)


def test_pages_are_the_generated_ones():
    pages = compat.compat_pages()
    written = {name: (compat.DOCS / name).read_text("utf-8") for name in pages}
    assert written == pages, "python -m docs.generate.compat"
    assert {path.name for path in (compat.DOCS / "releases").iterdir()} == {
        name.partition("/")[2] for name in pages if name.startswith("releases/")
    }


def test_cell_repeats_no_answer_and_shows_missing_ones():
    one = record("pad/a", *WRONG_THEN_RIGHT)
    assert list(compat.release_cells(data(one), one)) == ["differ value", "=", "agree", "="]
    gap = record("pad/a", ("agree", ("1.0",)), ("agree", ("1.2", "1.3")))
    assert list(compat.release_cells(data(gap), gap)) == ["agree", "–", "agree", "="]


def test_equal_answers_of_surfaces_and_of_cases_are_one_row():
    found = compat.merged_rows(
        [
            record("pad/a", *WRONG_THEN_RIGHT),
            record("pad/a", *WRONG_THEN_RIGHT, surface="s.dynamic"),
            record("pad/b", *WRONG_THEN_RIGHT),
            record("pad/b", *WRONG_THEN_RIGHT, surface="s.dynamic"),
            record("pad/c", *WRONG_THEN_RIGHT),
            record("conv/a", *WRONG_THEN_RIGHT),
        ]
    )
    assert [(cases, surfaces) for cases, surfaces, _ in found] == [
        (["conv/a"], ["s"]),
        (["pad/a", "pad/b"], ["s", "s.dynamic"]),
        (["pad/c"], ["s"]),
    ]


def test_each_case_of_a_convention_has_a_row():
    asked = [record(f"pad/{name}", *WRONG_THEN_RIGHT, question="pad/a") for name in "ab"]
    assert [cases for cases, _, _ in compat.merged_rows(asked)] == [["pad/a"], ["pad/b"]]


def test_sections_of_findings_have_titles_links_and_texts(tmp_path):
    page = tmp_path / "fake.md"
    page.write_text(
        "# F\n\n## Bugs\n\n### Pads by `n`, or −∞\n\none\n\n### Two\n\ntwo\n\n## Others\n\nthree\n", "utf-8"
    )
    first, second = compat.finding_sections(page)
    assert first[:2] == ("Pads by `n`, or −∞", "findings/fake.md#pads-by-n-or-")
    assert (second[0], second[2].strip()) == ("Two", "two")
    assert list(compat.finding_sections(tmp_path / "none.md")) == []
