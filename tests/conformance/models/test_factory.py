import pytest

from conformance import ConformanceError
from conformance.models.factory import FactoryName, parse_factory


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("net.py:make", FactoryName("", "net.py", "make")),
        ("torch:net.py:make", FactoryName("torch", "net.py", "make")),
        ("some.module:Net.make", FactoryName("", "some.module", "Net.make")),
        ("jax:some.module:make", FactoryName("jax", "some.module", "make")),
        ("a:b.py:make", FactoryName("", "a:b.py", "make")),
        ("torch:a:b.py:make", FactoryName("torch", "a:b.py", "make")),
    ],
)
def test_names_of_functions(tmp_path, monkeypatch, text, found):
    monkeypatch.chdir(tmp_path)
    for name in ("net.py", "a:b.py"):
        (tmp_path / name).touch()
    assert parse_factory(text, "FILE") == found
    assert f"{found.backend}:{found.reference}".lstrip(":") == text


@pytest.mark.parametrize("text", ["", "net.py", "make", ":make", "gone.py:make", "net.py:", "net.py:a b", "a b:make"])
def test_a_wrong_name_is_one_line(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").touch()
    with pytest.raises(ConformanceError, match=r"^model [^\n]*$"):
        parse_factory(text, "FILE")
