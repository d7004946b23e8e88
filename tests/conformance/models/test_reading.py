"""Readers run in a process of their own: these tests use a script in place of a framework."""

import os
import sys
import time
from pathlib import Path

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.adapters.api import ModelReader
from conformance.models import reading
from conformance.models.reading import ModelSource, find_reader, parse_source, read_model

ADD = 'model.add(source, "global_max_pool", {}, shape=[1, 2, 5, 5], dtype="float32", source="Node")'


def read(folder, body, *, inputs=None, python=sys.executable, seconds=60.0, packages=(), advice=None):
    """Return the model that a script with this body reads."""
    script = folder / "script.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    script.write_text(f"import os, sys, time\n\ndef read_model(source, model):\n{lines}", "utf-8")
    reader = ModelReader(script, "numpy.loops", (".fake",), packages, advice=advice or {})
    return read_model(ModelSource("m.fake", reader, python, inputs or {}), seconds)


def test_a_reader_returns_layers_and_counts_the_others(tmp_path):
    model = read(
        tmp_path, f"{ADD}\nmodel.add_other('Relu')\nmodel.add_other('Relu')\nmodel.add_problem('r', 'X', 'no')"
    )
    assert [(one.name, one.operator, one.problem) for one in model.layers] == [
        ("m.fake", "global_max_pool", ""), ("r", "", "no"),
    ]  # fmt: skip
    assert model.others == {"Relu": 2}


def test_the_versions_of_imported_packages_are_read(tmp_path):
    body = f"import types\nsys.modules['one'] = one = types.ModuleType('one')\none.__version__ = '1.2'\n{ADD}"
    model = read(tmp_path, body)
    assert model.versions["one"] == "1.2"
    assert model.is_run


def test_a_reader_gets_the_input_shapes(tmp_path):
    model = read(tmp_path, "model.add_other(repr(model.inputs))", inputs={"x": (1, 3)})
    assert list(model.others) == ["{'x': (1, 3)}"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise model.error('it is broken')", "m.fake: it is broken"),
        ("raise KeyError('x')", "m.fake: KeyError: 'x'"),
        ("raise ValueError('two\\nlines')", "m.fake: ValueError: two lines"),
        ("os.abort()", "ended with SIGABRT"),
        ("os.kill(os.getpid(), 35)", "ended with signal 35"),
        ("os._exit(3)", "ended early"),
        ("x = []\nx.append(x)\nimport json\nmodel.layers = x", "invalid data"),
        ("def f(n): return f(n)\nf(1)", "nested too deeply"),
        ("bytearray(1 << 60)", "more memory than the limit"),
        ("model.layers = [{'name': 1}]", "invalid data"),
        ("for _ in range(30000): " + ADD, "more than 20000 layers"),
    ],
)
def test_a_broken_model_ends_in_one_line(tmp_path, body, message):
    with pytest.raises(ConformanceError) as caught:
        read(tmp_path, body)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pipe_or_a_device_is_no_model(tmp_path):
    os.mkfifo(pipe := tmp_path / "m.fake")
    reader = ModelReader(tmp_path / "script.py", "numpy.loops", (".fake",), ())
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(ConformanceError, match=f"^{path}: not a regular file$"):
            read_model(ModelSource(str(path), reader, sys.executable, {}), 5)


def test_a_reader_that_hangs_is_killed(tmp_path):
    start = time.monotonic()
    with pytest.raises(ConformanceError, match="takes more than 1 seconds"):
        read(tmp_path, "time.sleep(600)", seconds=1.0)
    assert time.monotonic() - start < 60


def test_processes_that_a_reader_started_are_killed(tmp_path):
    mark = tmp_path / "alive"
    child = f"import time; time.sleep(3); open({str(mark)!r}, 'w')"
    read(tmp_path, f"import subprocess\nsubprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True)")
    time.sleep(4)
    assert not mark.exists()


def test_what_a_model_prints_is_no_result(tmp_path):
    assert len(read(tmp_path, f"print('{{}}')\n{ADD}").layers) == 1


def test_a_missing_framework_is_named_with_the_option(tmp_path):
    with pytest.raises(IncompleteRun, match=r"does not have nowhere \(--reader NAME=PYTHON\)"):
        read(tmp_path, "import nowhere", packages=("nowhere",))


def test_an_error_has_the_advice_of_the_reader(tmp_path):
    missing = "operator torchvision::nms does not exist"
    advice = registry.model_readers()["torch"].advice
    with pytest.raises(ConformanceError, match="nms does not exist; torchvision was built for another torch"):
        read(tmp_path, f"raise RuntimeError({missing!r})", advice=advice)
    with pytest.raises(ConformanceError, match=r"RuntimeError: no such size$"):
        read(tmp_path, "raise RuntimeError('no such size')", advice=advice)


def test_a_missing_interpreter_is_an_error(tmp_path):
    with pytest.raises(IncompleteRun, match="No such file"):
        read(tmp_path, ADD, python=str(tmp_path / "python"))


def test_too_long_a_list_of_layers_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_RESULT_BYTES", 10)
    with pytest.raises(ConformanceError, match="take more than 10 bytes"):
        read(tmp_path, ADD)


def test_the_reader_of_a_file_is_found_by_its_ending(tmp_path):
    path = tmp_path / "m.onnx"
    path.touch()
    assert find_reader(str(path), None)[0] is registry.model_readers()["onnx"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("m.onnx", "no such file"), ("m.unknown", "no such file"), ("x=y", "no such file")],
)
def test_a_missing_file_is_an_error(name, message):
    with pytest.raises(ConformanceError, match=message):
        find_reader(name, None)


def test_a_file_of_another_kind_is_an_error(tmp_path):
    path = tmp_path / "m.txt"
    path.touch()
    with pytest.raises(ConformanceError, match=r"no reader has the ending.*onnx \(\.onnx\)"):
        find_reader(str(path), None)


OBJECTS = (
    "import collections\nclass Base: pass\nclass Net(Base): pass\ndef make(): return Net()\ndef number(): return 3\n"
)


def read_returned(folder, monkeypatch, source, **returns):
    """Return the model of a reference; returns: the classes of each reader."""
    script = "def read_object(value, model):\n    model.add_other(__file__)\n"
    readers = {}
    for name, classes in returns.items():
        (folder / f"{name}.py").write_text(script, "utf-8")
        readers[name] = ModelReader(folder / f"{name}.py", name, (), (), reads_references=True, returns=classes)
    (folder / "nets.py").write_text(OBJECTS, "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(registry, "model_readers", lambda: readers)
    return read_model(ModelSource(source, None, sys.executable, {}), 60.0)


def test_the_class_that_a_function_returns_chooses_the_reader(tmp_path, monkeypatch):
    model = read_returned(tmp_path, monkeypatch, "nets:make", a=("other.Net",), b=("nets.Net",))
    assert [path.rpartition("/")[2] for path in model.others] == ["b.py"]
    assert model.surface == "b"


def test_a_class_is_nearer_than_its_base_class(tmp_path, monkeypatch):
    model = read_returned(tmp_path, monkeypatch, "nets:make", a=("nets.Base",), b=("nets.Net",))
    assert model.surface == "b"
    assert read_returned(tmp_path, monkeypatch, "nets:make", a=("nets.Base",)).surface == "a"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nets:number", r"it returned builtins\.int; a reads nets\.Net, b reads nets\.Base"),
        ("nets:nothing", "AttributeError"),
        ("nowhere:make", "ModuleNotFoundError"),
        ("nets:collections", "it is module, not a function"),
    ],
)
def test_a_function_without_a_reader_is_one_line(tmp_path, monkeypatch, source, message):
    with pytest.raises(ConformanceError, match=message) as caught:
        read_returned(tmp_path, monkeypatch, source, a=("nets.Net",), b=("nets.Base",))
    assert "\n" not in str(caught.value)


def test_a_reader_that_reads_references_itself_gets_the_text(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("def read_model(source, model): model.add_other(source)", "utf-8")
    reader = ModelReader(script, "s", (), (), reads_references=True)
    assert list(read_model(ModelSource("a.b:c", reader, sys.executable, {}), 60.0).others) == ["a.b:c"]


def test_a_parameter_that_is_not_finite_is_a_problem_of_its_layer(tmp_path):
    bad = 'model.add("p", "pad", {"pads": [[1, 1]], "value": float("-inf")}, shape=[1, 1, 5], dtype="float32")'
    found = read(tmp_path, f"{bad}\n{ADD}").layers
    assert [one.problem for one in found] == ["a parameter of it is infinite or not a number", ""]


def test_a_misspelled_reader_gets_a_suggestion():
    with pytest.raises(ConformanceError, match="did you mean 'onnx'"):
        find_reader("m.onnx", "onx")


def test_a_reader_of_files_does_not_read_functions():
    with pytest.raises(
        ConformanceError, match="--reader onnx: reads no models of Python functions; readers that do are"
    ):
        find_reader("package.module:function", "onnx")
    assert find_reader("package.module:function", None)[0] is None


def test_a_reader_may_have_its_own_interpreter():
    assert find_reader("m.onnx", "onnx=/a/python")[1] == "/a/python"


def test_a_function_of_a_file_is_read_and_finds_the_modules_beside_it(tmp_path, monkeypatch):
    folder = tmp_path / "other folder"
    folder.mkdir()
    (folder / "more.py").write_text("from nets import Net\ndef make(): return Net()\n", "utf-8")
    (folder / "nets.py").write_text(OBJECTS, "utf-8")
    model = read_returned(tmp_path, monkeypatch, f"{folder}/more.py:make", b=("nets.Net",))
    assert model.surface == "b"


@pytest.mark.parametrize(
    ("text", "reader", "chosen"),
    [
        ("nets.py:make", None, (None, None)),
        ("nets:make", "torch", ("torch", None)),
        ("torch:nets.py:make", None, ("torch", None)),
        ("torch:nets.py:make", "torch=/p", ("torch", None)),
        ("keras-jax:some.nets:Net.make", None, ("keras", "jax")),
        ("keras:nets.py:make", None, ("keras", None)),
    ],
)
def test_a_backend_in_the_name_chooses_the_reader(tmp_path, monkeypatch, text, reader, chosen):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").touch()
    found = parse_source(text, reader, {})
    assert found.text == text[text.index("nets") if "some" not in text else text.index("some") :]
    own = found.reader and (found.reader.script.parent.parent.name, found.reader.variables.get("KERAS_BACKEND"))
    assert (own or (None, None)) == chosen
    assert found.python == ("/p" if reader == "torch=/p" else sys.executable)


@pytest.mark.parametrize(
    ("text", "reader", "message"),
    [
        ("gone.py:make", None, "gone.py: no such file"),
        ("nets.py", None, "nets.py has no factory after it"),
        ("torch:nets.py", None, "nets.py has no factory after it"),
        ("nets.py:", None, "'' is not the name of a factory"),
        ("nets.py:make()", None, "'make()' is not the name of a factory"),
        ("nowhere:nets.py:make", None, "--reader nowhere: unknown"),
        ("torch:nets.py:make", "jax", "--reader jax: the model is one of torch"),
        ("onnx:nets.py:make", None, "reads no models of Python functions"),
        (":make", None, "expected a model file, [BACKEND:]FILE.py:FACTORY"),
    ],
)
def test_a_wrong_name_of_a_model_is_one_line(tmp_path, monkeypatch, text, reader, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").touch()
    with pytest.raises(ConformanceError, match=r"^[^\n]*$") as caught:
        parse_source(text, reader, {})
    assert message in str(caught.value)


def test_a_file_with_a_syntax_error_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("def make(:\n", "utf-8")
    with pytest.raises(ConformanceError, match="SyntaxError"):
        read_returned(tmp_path, monkeypatch, f"{tmp_path}/broken.py:make", b=("nets.Net",))
