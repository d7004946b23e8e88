import pytest

from conformance import ConformanceError
from conformance.models.comparison.source import ModelSource, parse_model_source


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("net.py", "net.onnx"):
        (tmp_path / name).touch()


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("torch:net.py:make", ModelSource("torch", "net.py", "make")),
        ("jax:some.module:Net.make", ModelSource("jax", "some.module", "Net.make")),
        ("net.onnx", ModelSource("onnxruntime", "net.onnx")),
        ("onnxruntime:net.onnx", ModelSource("onnxruntime", "net.onnx")),
    ],
)
def test_models(text, source):
    assert parse_model_source(text) == source
    assert str(source) in (text, f"onnxruntime:{text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torch", "expected BACKEND:FILE.py:FACTORY"),
        ("torch:net.py", "net.py has no factory after it; expected BACKEND:FILE.py:FACTORY"),
        ("net.py:make", "it names no backend; expected BACKEND:FILE.py:FACTORY"),
        (":net.py:make", "expected BACKEND:FILE.py:FACTORY"),
        ("torch:net.py:", "'' is not the name of a factory"),
        ("torch:net.py:make()", "'make()' is not the name of a factory"),
        ("torch:gone.py:make", "gone.py: no such file"),
        ("torch:a b:make", "'a b' is neither a .py file nor the name of a module"),
        ("gone.onnx", "gone.onnx: no such file"),
        ("nobody:net.py:make", "backend 'nobody'"),
        ("tinygrad:net.py:make", "models of tinygrad cannot be recorded, only those of jax, "),
    ],
)
def test_wrong_models_are_one_line(text, message):
    with pytest.raises(ConformanceError, match=r"^[^\n]*$") as error:
        parse_model_source(text)
    assert message in str(error.value)
