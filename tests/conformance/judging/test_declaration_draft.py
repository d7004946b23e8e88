"""Answers are added to a declarations file, and nothing else in it changes."""

import pytest

from conformance import CatalogueError, ConformanceError
from conformance.judging.declaration_draft import DeclarationsFile, ObservedDeclaration, declarations_text
from tests.support.fake_backends import backend, surface

ONE = ObservedDeclaration("a.nn", "max_pool/q", "no", "1.10")
TWO = ObservedDeclaration("b", "avg_pool/r", "window", "2")
TEXT = """\
# A comment of the file.
b:   # of the surface
    max_pool/q: {answer: kept, observed: "1"}

    # Before the last.
    max_pool/s:
        answer: kept   # because
        observed: "1"

# At the end of b.

c:
  like: b
  max_pool/s: null
"""
BACKEND = backend(surface("a.nn"), surface("b"), surface("c"))


@pytest.fixture
def file(tmp_path):
    def made(text=None):
        path = tmp_path / "fake.yaml"
        if text is not None:
            path.write_text(text, "utf-8")
        return DeclarationsFile(path)

    return made


def test_words_and_numbers_that_yaml_reads_otherwise_are_quoted():
    assert declarations_text([ONE]) == "a.nn:\n  max_pool/q:\n    answer: 'no'\n    observed: \"1.10\"\n"


def test_answers_are_added_at_the_end_of_their_surface(file):
    before = file(TEXT)
    after = before.with_answers([ONE, TWO])
    added = '    avg_pool/r:\n      answer: window\n      observed: "2"\n'
    assert after == TEXT.replace('        observed: "1"\n', f'        observed: "1"\n{added}') + declarations_text(
        [ONE]
    )
    before.write(after, BACKEND)
    assert before.path.read_text("utf-8") == after


def test_missing_file_is_created_with_a_comment(file):
    new = file()
    text = new.with_answers([TWO])
    assert text.startswith("# ")
    assert text.endswith(declarations_text([TWO]))
    new.write(text, BACKEND)


def test_file_without_a_last_newline_is_extended_on_a_new_line(file):
    assert 'observed: "1"\n  avg_pool/r:' in file(
        'b:\n  max_pool/q:\n    answer: kept\n    observed: "1"'
    ).with_answers([TWO])


def test_answers_and_null_of_the_file_are_known(file):
    made = file(TEXT)
    known = [
        (surface, name) for surface in "bcd" for name in ("max_pool/q", "max_pool/s") if made.has_key(surface, name)
    ]
    assert known == [("b", "max_pool/q"), ("b", "max_pool/s"), ("c", "max_pool/s")]


def test_invalid_text_is_not_written(file):
    made = file(TEXT)
    with pytest.raises(CatalogueError, match=r"fake.yaml:\d+: surface 'x': unknown, known are a.nn, b, c"):
        made.write(made.with_answers([ObservedDeclaration("x", "max_pool/q", "kept", "1")]), BACKEND)
    assert made.path.read_text("utf-8") == TEXT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b: {max_pool/q: {answer: a, observed: b}}\n", r"fake.yaml:1: surface 'b': write its answers on lines"),
        ("x: 1\nb: [\n", r"fake.yaml:3: is not valid YAML"),
    ],
)
def test_file_in_another_form_is_one_line(file, text, message):
    with pytest.raises(ConformanceError, match=message):
        file(text)
