"""docs/backends.md: what each backend is tried with, and how long its adapter is."""

from conformance.adapters import registry
from conformance.translation.support import value_cases
from docs.generate import backends
from docs.generate.backends import adapter_modules, called_functions, code_lines, package_extras
from tests import ROOT

TEXT = '''"""A module.

Two lines more.
"""

# why
import os  # what


@cached
def one():
    """Say it."""
    text = """
    kept
    """
    return text
'''


def test_page_is_what_the_command_prints(catalogue):
    assert (ROOT / "docs" / "backends.md").read_text("utf-8") == backends.backends_page(catalogue)


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings():
    assert code_lines(TEXT) == {7, 10, 11, 13, 14, 15, 16}


def test_extras_are_read_with_their_versions(tmp_path):
    text = (
        '[project.optional-dependencies]\na = ["a==1", "b"]\n# why\na-b = ["c<2"]\n\n[dependency-groups]\nx = ["y"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    assert package_extras(tmp_path) == {"a": ["a==1", "b"], "a-b": ["c<2"]}


def test_functions_that_one_operator_calls_are_fewer_than_those_of_all(catalogue):
    surfaces = registry.get_backend("numpy").surfaces
    cases = value_cases(catalogue.select("smoke"))
    home = str(adapter_modules("numpy")[0].parent)
    every, some = (
        {call for call in called_functions(surfaces, chosen) if call[0].startswith(home)}
        for chosen in (cases, [case for case in cases if case.operator == "pad"])
    )
    assert some < every
    assert any(name.endswith("numpy_places.py") for name, _ in some)
    assert not any(name.endswith("numpy_windows.py") for name, _ in some)


def test_profile_that_was_set_before_stands_again(catalogue):
    import sys  # noqa: PLC0415 - the hook is the subject

    before = sys.getprofile()
    called_functions(registry.get_backend("numpy").surfaces, value_cases(catalogue.select("smoke"))[:1])
    assert sys.getprofile() is before
