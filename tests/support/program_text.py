"""What the text of a program may be made of, for the tests of all adapters."""

import ast
import builtins
import re
from functools import lru_cache
from pathlib import Path

import conformance
from conformance.adapters import registry

SURFACES = [
    (registry.get_backend(name), surface)
    for name in registry.backend_names()
    for surface in registry.get_backend(name).surfaces
]
# What programs call of the builtins; nothing that reads, writes, imports or evaluates.
PLAIN = {
    "abs",
    "all",
    "any",
    "enumerate",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "range",
    "slice",
    "sum",
    "tuple",
    "zip",
}
# Names of layouts and dimensions are made of letters and numbers.
LAYOUT = re.compile(r"[NOI]{1,2}C?D?H?W?C?|[1-3][dD]")
assert set(dir(builtins)) >= PLAIN


def bound(tree):
    """Return the names that a text binds: by assignment, loop, import, definition or as an argument."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names


def loaded(tree):
    """Return the names that a text reads."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


@lru_cache
def known(setup):
    """Return the names that a setup binds."""
    return frozenset(bound(ast.parse(setup)))


@lru_cache
def vocabulary():
    """Return every run of letters in the source of the suite, in small letters."""
    home = Path(conformance.__file__).parent
    return frozenset(word for path in home.rglob("*.py") for word in words(path.read_text("utf-8")))


def words(text):
    """Return the runs of letters in a text, layouts and dimensions left out."""
    return {word.lower() for word in re.findall(r"[^\W\d_]+", LAYOUT.sub(" ", text))}


def strangers(backend, case, text):
    """Yield what a program holds besides its setup's names, its own, plain builtins, numbers and the suite's words."""
    tree = ast.parse(text)
    if [type(node) for node in tree.body] != [ast.FunctionDef] or tree.body[0].name != "run":
        yield "more than the function run"
    if [argument.arg for argument in tree.body[0].args.args] != list(case.inputs):
        yield "other arguments than the case's inputs"
    yield from (f"the name {name}" for name in sorted(loaded(tree) - bound(tree) - known(backend.setup) - PLAIN))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
            yield "an import, or a name of the module"
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            yield f"the private attribute {node.attr}"
        text = node.attr if isinstance(node, ast.Attribute) else node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and not words(text) <= vocabulary():
            yield f"the words {text!r}"
