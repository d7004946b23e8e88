"""Declarations of surfaces in YAML files."""

import pytest

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api import load_declarations

DOCUMENT = '{url: "https://example.org/pool", version: "2.1", sentence: "The stride is the window."}'
TEXT = f"""\
a.nn:
  max_pool/q:
    answer: window
    document: {DOCUMENT}
    note: One sentence.
  max_pool/r:
    answer: first
    observed: "2.1.0"
    issue: https://example.org/1
a.functional:
  like: a.nn
  max_pool/r:
    answer: last
    observed: "2.1.0"
"""


def read(folder, text):
    (folder / "a.yaml").write_text(text, "utf-8")
    return load_declarations("a", ["a.nn", "a.functional", "a.older"], folder)


def error_of(folder, text):
    with pytest.raises(CatalogueError) as caught:
        read(folder, text)
    return str(caught.value)


def test_declaration_may_have_other_answers_for_processor_features(tmp_path):
    text = TEXT.replace("answer: first\n", "answer: first\n    cpu: {avx512_fp16: last, amx_tile: other}\n")
    answer = read(tmp_path, text)["a.nn"]["max_pool/r"]
    assert answer.answers == ("first", "last", "other")
    assert [answer.for_processor(features).answer for features in ([], ["avx2"], ["amx_tile", "avx512_fp16"])] == [
        "first",
        "first",
        "last",
    ]
    assert "unknown key, did you mean 'avx512_fp16'?" in error_of(tmp_path, text.replace("avx512_fp16", "avx512_fp8"))


def test_declaration_may_have_other_answers_in_some_cases(tmp_path):
    depends = "{on: the size, cases: {max_pool/r-of-4: last, max_pool/r-of-8: {cpu: {avx512f: other}}}}"
    text = TEXT.replace("answer: first\n", f"answer: first\n    depends: {depends}\n")
    answer = read(tmp_path, text)["a.nn"]["max_pool/r"]
    assert answer.summary == "depends on the size"
    cases = ("max_pool/r", "max_pool/r-of-4", "max_pool/r-of-8")
    assert [answer.for_case(case).answer for case in cases] == ["first", "last", "first"]
    on_processor = answer.for_processor(["avx512f"])
    assert [on_processor.for_case(case).answer for case in cases] == ["first", "last", "other"]
    assert [answer.answers_in(case) for case in cases] == [("first",), ("last",), ("first", "other")]


def test_documented_answer_quotes_its_source(tmp_path):
    answer = read(tmp_path, TEXT)["a.nn"]["max_pool/q"]
    assert (answer.answer, answer.documented, answer.observed) == ("window", True, None)
    assert answer.source == 'https://example.org/pool (2.1): "The stride is the window."'
    assert (answer.document.version, answer.note) == ("2.1", "One sentence.")


def test_undocumented_answer_is_pinned_to_a_version(tmp_path):
    answer = read(tmp_path, TEXT)["a.nn"]["max_pool/r"]
    assert (answer.documented, answer.source, answer.observed) == (False, "undocumented", "2.1.0")
    assert answer.issue == "https://example.org/1"


def test_surface_may_be_like_another_except_for_some_answers(tmp_path):
    found = read(tmp_path, TEXT)
    assert found["a.functional"]["max_pool/q"] == found["a.nn"]["max_pool/q"]
    assert found["a.functional"]["max_pool/r"].answer == "last"


def test_surface_may_be_like_one_that_is_like_another(tmp_path):
    text = f"{TEXT}a.older:\n  like: a.functional\n  max_pool/q: {{answer: one, observed: '1'}}\n"
    answers = read(tmp_path, text)["a.older"]
    assert {convention: answer.answer for convention, answer in answers.items()} == {
        "max_pool/q": "one",
        "max_pool/r": "last",
    }


def test_null_removes_an_answer_of_the_surface_that_like_names(tmp_path):
    text = f"{TEXT}a.older:\n  like: a.functional\n  max_pool/q: null\n"
    assert read(tmp_path, text)["a.older"].keys() == {"max_pool/r"}


def test_backend_without_a_file_declares_nothing(tmp_path):
    assert load_declarations("nothing", ["s"], tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b.nn:\n  max_pool/q: {answer: one, observed: '1'}\n", "a.yaml:1: surface 'b.nn': unknown, known are a.fun"),
        ("a.nn:\n  max_pool/q: {answer: one}\n", "key 'a.nn.max_pool/q'"),
        (f"a.nn:\n  max_pool/q: {{answer: one, observed: '1', document: {DOCUMENT}}}\n", "key 'a.nn.max_pool/q'"),
        ("a.nn:\n  max_pool/q: {answer: one, seen: '1'}\n", "unknown key"),
        ("a.nn:\n  like: a.functional\n", "a.yaml:2: surface 'a.nn': key 'like': a.functional has no answers"),
        ("a.nn:\n  like: a.functional\na.functional:\n  like: a.nn\n", "a.nn has no answers in this file"),
        ("a.nn:\n  like: a.nn\n", "a.nn has no answers in this file"),
        ("a.nn:\n  like: a.functional\na.functional:\n  like: a.b\n", "a.b has no answers in this file"),
    ],
)
def test_error_in_a_file_names_the_line(tmp_path, text, message):
    assert message in error_of(tmp_path, text)


@pytest.mark.parametrize("name", registry.backend_names())
def test_every_answer_is_documented_or_pinned(name):
    for surface in registry.get_backend(name).surfaces:
        for convention, answer in surface.declarations.items():
            assert answer.documented is (answer.observed is None), f"{surface.name}: {convention}"
            assert answer.documented is (answer.document is not None)
