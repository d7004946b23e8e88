"""Small catalogues and fake backends with NumPy programs, for tests without a framework."""

from dataclasses import replace

from conformance.adapters.api import Backend, Declaration, Program, RouteBatch, RouteStages, Surface
from conformance.cases.steps import Step
from conformance.catalogue import loading

SETUP = "import os\nimport signal\nimport sys\nimport time\nimport numpy as np\n"
ALWAYS_RIGHT = """\
walk = np.lib.stride_tricks.sliding_window_view(x, {window}, axis=tuple(range(2, x.ndim)))
x = walk[{stride}].max(axis=tuple(range(x.ndim, 2 * x.ndim - 2)))"""
CRASHES = "os.abort()"
HANGS = "time.sleep(60)"
RAISES = "raise ValueError('not for me')"
ALWAYS_WRONG = "x = x.reshape(-1)[:1].reshape((1,) * x.ndim) - 1"


def family(folder, *cases, operator="max_pool", section="cases", name="file.yaml"):
    """Write a catalogue file with one line of flow YAML per case; return its path. The first case is in line 4."""
    lines = [f"operator: {operator}", "source: a test", f"{section}:", *(f"  - {{{case}}}" for case in cases)]
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def load(folder, *cases, **keywords):
    """Return the catalogue of a file written by `family`."""
    return loading.load_catalogue([family(folder, *cases, **keywords)])


def one(folder, text, **keywords):
    """Return the only case of a file written by `family`."""
    return load(folder, text, **keywords).cases[0]


def program(body, surface="fake.surface"):
    """Return a program with this body, which reads and assigns x."""
    lines = [*body.splitlines(), "return x"]
    return Program(surface, "native", "def run(x):\n" + "".join(f"    {line}\n" for line in lines))


def right_maximum(step: Step):
    """Return the lines of a correct maximum for windows without padding and dilation."""
    strides = ", ".join(f"::{stride}" for stride in step.stride)
    return tuple(ALWAYS_RIGHT.format(window=step.window, stride=f":, :, {strides}").splitlines())


def surface(name, body=None, **keywords):
    """Return a surface with this body for max_pool, by default the correct one."""
    lowering = right_maximum if body is None else lambda _step: tuple(body.splitlines())
    return Surface(name, {"max_pool": lowering}, **keywords)


def backend(*surfaces, setup=SETUP, reset="", packages=("numpy",), name="fake", **further):
    """Return a backend with these surfaces, by default with one correct surface."""
    return Backend(name, packages, setup, reset, surfaces or (surface("fake.right"),), **further)


def declares(answer, question="max_pool/q"):
    """Return declarations with one answer to one convention."""
    return {question: Declaration(answer, "its documentation")}


EXPORTED = "results = [model(*one) for model, one in zip(models, inputs)]"
"""Runs the models of a batch."""


def route(export, *, alone="", evaluation=(), evaluator=None):
    """Return a route whose batches have these lines. alone: a line of programs alone, and none of its other stages."""

    def lowering(step):
        return (*right_maximum(step), *([alone] if alone else []))

    def part(step):
        lines = (f"    {line}" for text in right_maximum(step) for line in text.split("\n"))
        return ("def model(x):", *lines, "    return x", "x = model, (x,)")

    right = surface("exporter→runtime")
    batch = RouteBatch(replace(right, lowerings={"max_pool": part}), export, evaluation=evaluation)
    stages = RouteStages("source", "runtime", right, right, evaluator, batch=batch)
    return replace(right, lowerings={"max_pool": lowering}, route=stages)
