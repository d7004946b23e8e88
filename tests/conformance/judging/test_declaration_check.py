"""Declarations of unknown conventions and answers are errors with file, line, surface and key."""

from dataclasses import replace

import pytest

from conformance import CatalogueError
from conformance.adapters import registry
from conformance.adapters.api import Declaration, load_declarations
from conformance.catalogue.declarations import check_declarations_of_run
from conformance.catalogue.loading import load_catalogue
from conformance.judging.declaration_check import check_declarations
from tests.support.fake_backends import backend, family, load, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}, window: [2, 2]"
QUESTION = f"id: subnormals, about: What, {X}, answers: {{kept: {{stride: 2}}, flushed: {{stride: 1}}}}"
FILE = """\
a:
  max_pool/subnormals: {answer: kept, observed: "1"}
b:
  like: a
"""


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """Return a function that makes a backend with this declarations file."""

    def made(text):
        path = tmp_path / "fake.yaml"
        path.write_text(text, "utf-8")
        monkeypatch.setattr(registry, "declarations_path", lambda _: path)
        answers = load_declarations("fake", ["a", "b"], tmp_path)
        return backend(*(surface(name, declarations=answers[name]) for name in answers))

    return made


@pytest.fixture
def errors(tmp_path):
    """Return a function that returns the errors of a backend, without the folder."""

    def found(made, whole_catalogue=True):
        cases = load(tmp_path, QUESTION, section="questions", name="cases.yaml").cases
        try:
            check_declarations(made, cases, whole_catalogue=whole_catalogue)
        except CatalogueError as error:
            return str(error).replace(f"{tmp_path}/", "").splitlines()
        return []

    return found


def test_correct_declarations_have_no_errors(declared, errors):
    assert errors(declared(FILE)) == []


def test_misspelled_convention_is_reported_once_at_the_surface_that_has_it(declared, errors):
    assert errors(declared(FILE.replace("subnormals", "subnormal"))) == [
        "fake.yaml:2: surface a: key 'max_pool/subnormal': not a convention, did you mean 'max_pool/subnormals'?"
    ]


@pytest.mark.parametrize(("answer", "hint"), [("keeps", ", did you mean 'kept'?"), ("xyz", "")])
def test_misspelled_answer_is_reported_with_a_suggestion(declared, errors, answer, hint):
    assert errors(declared(FILE.replace("kept", answer)), whole_catalogue=False) == [
        f"fake.yaml:2: surface a: key 'max_pool/subnormals': {answer!r} is not an answer "
        f"(the answers are kept, flushed){hint}"
    ]


def test_answers_for_processors_and_devices_are_checked(declared, errors):
    text = FILE.replace("observed", "cpu: {avx2: flush}, device: {cuda: keep}, observed")
    assert [line.partition("key ")[2] for line in errors(declared(text))] == [
        "'max_pool/subnormals': 'flush' is not an answer (the answers are kept, flushed), did you mean 'flushed'?",
        "'max_pool/subnormals': 'keep' is not an answer (the answers are kept, flushed), did you mean 'kept'?",
    ]


def test_answers_of_cases_are_checked_and_may_be_none_of_the_named_ones(declared, errors):
    text = FILE.replace(
        "observed", "depends: {on: size, cases: {max_pool/subnormals: flush, max_pool/x: other}}, observed"
    )
    assert [line.partition("key ")[2] for line in errors(declared(text))] == [
        "'max_pool/subnormals': 'flush' is not an answer (the answers are kept, flushed), did you mean 'flushed'?",
        "'max_pool/subnormals': max_pool/x is no case of the convention",
    ]


def test_conventions_outside_the_given_cases_are_not_checked(declared, errors):
    text = FILE.replace("max_pool/subnormals", "max_pool/other")
    assert errors(declared(text), whole_catalogue=False) == []
    assert len(errors(declared(text))) == 1


def test_conventions_of_operators_without_cases_are_not_checked(declared, errors):
    assert errors(declared(FILE.replace("max_pool/", "avg_pool/"))) == []
    (line,) = errors(declared(FILE.replace("max_pool/", "maxpool/")))
    assert line.endswith("not a convention, did you mean 'max_pool/subnormals'?")


def test_backend_without_a_file_is_reported_by_its_surface(errors, monkeypatch):
    monkeypatch.setattr(registry, "declarations_path", lambda _: None)
    made = backend(surface("a", declarations={"max_pool/zzz": Declaration("one")}))
    assert errors(made) == ["surface a: key 'max_pool/zzz': not a convention (conformance conventions lists all)"]


def test_number_of_listed_errors_is_limited(declared, errors):
    answers = "".join(f"  max_pool/z{number}: {{answer: kept, observed: '1'}}\n" for number in range(25))
    lines = errors(declared(f"a:\n{answers}b:\n  like: a\n"))
    assert len(lines) == 21
    assert lines[-1] == "fake.yaml: and 5 more"


def test_answers_to_built_in_conventions_are_checked_although_the_run_has_its_own_cases(declared, tmp_path):
    path = family(tmp_path, f"id: a, {X}", name="cases.yaml")
    made = declared("a:\n  max_pool/nan-in-window: {answer: nope, observed: '1'}\nb:\n  like: a\n")
    with pytest.raises(CatalogueError, match=r"fake.yaml:2: surface a: key 'max_pool/nan-in-window': 'nope' is not an"):
        check_declarations_of_run(made, load_catalogue([path]), [path])
    # Conventions of other case files are not known.
    made = declared(FILE)
    check_declarations_of_run(made, load_catalogue([path]), [path])


@pytest.mark.parametrize("command", [["run", "--backend", "numpy", "--operator", "pad"], ["rejudge"]])
def test_commands_refuse_a_misspelled_convention(conformance, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    if command == ["rejudge"]:
        assert conformance("run", "--backend", "numpy", "--operator", "pad", "--case", "pad/1d-value")[0] == 0
    numpy = registry.get_backend("numpy")
    (only,) = numpy.surfaces
    only = replace(only, declarations={**only.declarations, "max_pool/subnormal": Declaration("kept", observed="1")})
    monkeypatch.setattr(registry, "get_backend", lambda *_: replace(numpy, surfaces=(only,)))
    status, out, errors = conformance(*command)
    assert (status, out) == (2, "")
    assert errors == [
        "conformance: surface numpy.loops: key 'max_pool/subnormal': not a convention, "
        "did you mean 'max_pool/subnormals'?"
    ]
