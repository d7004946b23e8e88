"""The page of backends: requirements, surfaces, and the size of adapters."""

import sys

from conformance.adapters import registry
from conformance.translation.support import value_cases
from docs.generate import backends
from docs.generate.backends import adapter_modules, called_functions, code_lines, package_extras

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


def test_page_has_every_backend_adapter_and_surface(catalogue):
    page = backends.backends_page(catalogue)
    for name, module in registry.built_in_modules().items():
        assert f"\n| `{name}` | " in page
        assert f"\n| `{module}` | " in page
        assert all(f"\n| `{surface.name}` | " in page for surface in registry.get_backend(name).surfaces)


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings():
    assert code_lines(TEXT) == {7, 10, 11, 13, 14, 15, 16}


def test_extras_are_read_with_their_versions(tmp_path):
    text = (
        '[project.optional-dependencies]\na = ["a==1", "b"]\n# why\na-b = ["c<2"]\n\n[dependency-groups]\nx = ["y"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    assert package_extras(tmp_path) == {"a": ["a==1", "b"], "a-b": ["c<2"]}


def test_modules_of_an_adapter_are_those_of_its_package():
    names = ["__init__.py", "affine_grids.py", "blocks.py", "deform_conv.py", "grid_sampling.py", "morphology.py"]
    names += ["normalization.py"]
    names += [
        "padding_convolution.py",
        "pooling.py",
        "quantization.py",
        "quantized_convolution.py",
        "resizing.py",
        "unfolding.py",
    ]
    assert [path.name for path in adapter_modules("numpy")] == names


def test_one_operator_calls_fewer_functions_than_all_operators(catalogue):
    surfaces = registry.get_backend("numpy").surfaces
    cases = value_cases(catalogue.select("smoke"))
    folder = str(adapter_modules("numpy")[0].parent)
    of_all, of_pad = (
        {call for call in called_functions(surfaces, chosen) if call[0].startswith(folder)}
        for chosen in (cases, [case for case in cases if case.operator == "pad"])
    )
    assert of_pad < of_all
    assert any(name.endswith("padding_convolution.py") for name, _ in of_pad)
    assert not any(name.endswith("pooling.py") for name, _ in of_pad)


def test_earlier_profile_function_is_restored(catalogue):
    before = sys.getprofile()
    called_functions(registry.get_backend("numpy").surfaces, value_cases(catalogue.select("smoke"))[:1])
    assert sys.getprofile() is before
