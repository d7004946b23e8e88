"""Workers for frameworks in JavaScript: under Node.js, and in a page of Chromium or of a program in its place."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.adapters.api.javascript import NpmPackages, in_page, missing_chromium, workers
from conformance.execution.job import Job, Limits
from conformance.execution.worker_process import Worker

X = np.arange(4, dtype=np.float32).reshape(1, 2, 2)
RIGHT = "return x;"
SETUP = """
names.rejects = () => { throw new RangeError("no"); };
names.versions = { fake: "1.2.3" };
"""
"""A setup without a package."""
PAGE_SETUP = (
    SETUP
    + """
let runs = 0;
names.second = () => { if (++runs > 1) throw new Error("stale"); return "once"; };
names.isStale = (error) => error.message === "stale";
let isBroken = false;
names.breaks = () => { isBroken = true; };
names.isBroken = () => isBroken;
names.count = () => ++runs;
"""
)
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="the program node is not installed")
needs_chromium = pytest.mark.skipif(
    NODE is None or missing_chromium() is not None, reason="node and chromium are not both installed"
)
FAKE_CHROMIUM = """#!/usr/bin/env node
// Replies to methods of the DevTools protocol. Its page returns the arrays of every program; `crash` crashes it.
import { Socket } from "node:net";
if (process.argv.includes("--version")) { console.log("Chromium 1.2.3"); process.exit(0); }
const output = new Socket({ fd: 4 });
const send = (message) => output.write(JSON.stringify(message) + "\\0");
let rest = "";
new Socket({ fd: 3 }).on("data", (data) => {
  const parts = (rest + data).split("\\0");
  rest = parts.pop();
  for (const { id, method, params } of parts.map(JSON.parse)) {
    const text = params.expression ?? "";
    if (text.includes("end;")) process.exit(7);
    if (text.includes("crash;")) { send({ method: "Inspector.targetCrashed", params: {} }); continue; }
    if (text.includes("hang;")) continue;
    const { arrays } = text.startsWith("runInPage") ? JSON.parse(text.slice(10, -1)) : {};
    const value = arrays && { arrays, seconds: 0.5, isStale: false };
    send({ id, result: { targetId: "t", sessionId: "s", result: { value } } });
    if (method === "Page.navigate") send({ method: "Page.loadEventFired", params: {} });
  }
});
"""


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "library.mjs"
    path.write_text("export const double = ({ data, ...rest }) => ({ ...rest, data: data.map((one) => 2 * one) });\n")
    return path


@pytest.fixture
def fake_chromium(tmp_path):
    path = tmp_path / "chromium.mjs"
    path.write_text(FAKE_CHROMIUM, "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def new_worker(library):
    """Return a function that makes a worker whose setup needs no package."""
    made = []

    def make(setup=SETUP, chromium="chromium"):
        command = replace(NpmPackages("Fake", "fake", library).command(), missing_requirement=lambda: None)
        command = replace(command, arguments=(*command.arguments[:-1], chromium))
        fake = replace(registry.get_backend("tfjs"), packages=("fake",), setup=setup, surfaces=(), worker=command)
        made.append(Worker(fake, limits=Limits(case_seconds=5), retry=False))
        return made[-1]

    yield make
    for worker in made:
        worker.stop()


def job(body, x=X):
    return Job(Program("fake.cpu", "native", f"function run(x) {{ {body} }}"), (x,))


@needs_node
@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("return x;", "returned", ""),
        ("return {}.misspelled(x);", "crashed", "error in the program: TypeError"),
        ("return misspelled;", "crashed", "error in the program: ReferenceError"),
        ("return (;", "crashed", "error in the program: SyntaxError"),
        ("return rejects(x);", "rejected", "RangeError: no"),
        ("console.log('printed'); return x;", "returned", ""),
        ("process.exit(3);", "crashed", "status 3"),
        ("for (;;);", "timed_out", "no answer"),
        ('throw new WebAssembly.RuntimeError("memory access out of bounds");', "crashed", "RuntimeError: memory"),
    ],
)
def test_a_program_costs_one_case(new_worker, body, kind, message):
    before, found, after = new_worker().outcomes([job(RIGHT), job(body), job(RIGHT)])
    assert (before.kind, found.kind, after.kind) == ("returned", kind, "returned")
    assert np.array_equal(after.arrays[0], X)
    assert message in found.message


@needs_node
def test_a_tensor_with_another_number_of_elements_than_its_shape_is_no_array(new_worker):
    (found,) = new_worker().outcomes([job("return { ...x, shape: [1, 2, 3] };")])
    assert (found.kind, found.arrays) == ("returned", ())


@needs_node
def test_programs_use_the_exports_of_the_module_of_the_adapter(new_worker):
    (found,) = new_worker().outcomes([job("return double(x);")])
    assert np.array_equal(found.arrays[0], 2 * X)


@needs_node
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64"])
def test_arrays_of_every_width_are_read_and_written(new_worker, dtype):
    array = np.arange(6).reshape(1, 2, 3).astype(dtype)
    (found,) = new_worker().outcomes([job(RIGHT, array)])
    assert found.arrays[0].dtype == array.dtype
    assert np.array_equal(found.arrays[0], array)


@needs_node
def test_a_result_may_be_a_promise(new_worker):
    (found,) = new_worker().outcomes([job("return Promise.resolve(x);")])
    assert np.array_equal(found.arrays[0], X)


@needs_node
def test_versions_of_the_setup_and_of_chromium_are_recorded(new_worker, fake_chromium):
    worker = new_worker(chromium=fake_chromium)
    worker.start()
    assert worker.environment["packages"]["fake"] == "1.2.3"
    assert worker.environment["packages"]["chromium"] == "1.2.3"


@needs_node
def test_a_machine_without_chromium_has_no_version_of_it(new_worker):
    worker = new_worker(chromium="no-such-program")
    worker.start()
    assert worker.environment["packages"]["chromium"] == ""


@needs_node
@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("return x;", "returned", ""),
        ("crash;", "crashed", "the page crashed"),
        ("end;", "crashed", "Chromium ended with status 7"),
        ("hang;", "timed_out", "no answer"),
    ],
)
def test_a_page_that_crashes_costs_one_case(new_worker, fake_chromium, body, kind, message):
    before, found, after = new_worker(in_page(PAGE_SETUP), fake_chromium).outcomes([job(RIGHT), job(body), job(RIGHT)])
    assert (before.kind, found.kind, after.kind) == ("returned", kind, "returned")
    assert np.array_equal(after.arrays[0], X)
    assert message in found.message


@needs_chromium
@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("return double(x);", "returned", ""),
        ("return {}.misspelled(x);", "crashed", "error in the program: TypeError"),
        ("return (;", "crashed", "error in the program: SyntaxError"),
        ("return rejects(x);", "rejected", "RangeError: no"),
        ('throw new WebAssembly.RuntimeError("memory access out of bounds");', "crashed", "RuntimeError: memory"),
    ],
)
def test_programs_run_in_a_page(new_worker, body, kind, message):
    found, after = new_worker(in_page(PAGE_SETUP)).outcomes([job(body), job(RIGHT)])
    assert (found.kind, after.kind) == (kind, "returned")
    assert message in found.message
    assert np.array_equal(after.arrays[0], X)


@needs_chromium
def test_a_program_that_fails_because_of_an_earlier_one_runs_in_a_new_page(new_worker):
    first, again = new_worker(in_page(PAGE_SETUP)).outcomes([job("second(); return x;"), job("second(); return x;")])
    assert (first.kind, again.kind) == ("returned", "returned")


@needs_chromium
def test_a_program_after_one_that_breaks_the_page_runs_in_a_new_page(new_worker):
    text = "const n = count(); return { ...x, data: x.data.map(() => n) };"
    found = new_worker(in_page(PAGE_SETUP)).outcomes([job(text), job(f"breaks(); {text}"), job(text)])
    assert [one.arrays[0].flat[0] for one in found] == [1, 2, 1]


def test_missing_packages_are_named_with_the_command_that_installs_them(monkeypatch, tmp_path, library):
    monkeypatch.setattr(workers, "PACKAGES_FOLDER", tmp_path / "packages")
    library.with_name("package.json").write_text('{"dependencies": {"@fake/one": "1.0", "two": "2.0"}}')
    folder = tmp_path / "packages" / "fake"
    packages = NpmPackages("Fake", "fake", library)
    assert packages.missing() == f"Fake is not installed: npm install --prefix {folder} @fake/one@1.0 two@2.0"
    (folder / "node_modules" / "@fake" / "one").mkdir(parents=True)
    assert packages.missing() is not None
    (folder / "node_modules" / "two").mkdir()
    assert packages.missing() is None


def test_missing_chromium_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing_chromium() == "the program chromium is not installed"
    (tmp_path / "chromium").touch(0o755)
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    assert missing_chromium() is None
