"""Translate the layers of a source file for `conformance translate`: find and read the file, and print the layers."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import Backend, ModuleStyle, Surface
from conformance.cases.arrays import json_value
from conformance.cli.lookup import find_dialects, find_surfaces, surfaces_of_dialects
from conformance.cli.parameter_types import parse_input_shapes
from conformance.models.graph_translation import translate_nodes
from conformance.models.reading import READ_SECONDS, ModelSource, find_reader, read_model
from conformance.translation.side_by_side import TranslationBackground
from conformance.translation.source.layer_translation import SourceTranslator
from conformance.translation.source.model_source import MAX_SOURCE_BYTES, read_model_source
from conformance.translation.source.module_text import comment_lines, layers_record, list_lines, module_lines
from conformance.translation.source.translated_layer import LayerKind, TranslatedLayer

SOURCE_SUFFIX = ".py"
FURTHER_LAYERS: Mapping[LayerKind, tuple[str, str]] = {
    LayerKind.OTHER: ("other layer", "other layers"),
    LayerKind.LOCAL: ("layer of a class of this source", "layers of classes of this source"),
}
"""The words for one and for several layers that are not translated."""
MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
SECONDS = 60.0
"""Time in which an interpreter must name its folders."""
MAX_LISTED_NAMES = 6
"""Number of names that an error lists."""
MAX_VALUE_LENGTH = 200
"""Limit of the length of a value of --set."""


@dataclass(frozen=True)
class ModelRequest:
    """A model to translate. what: a file or a module. dialect: the framework. as_module: whether to write modules.

    values: NAME=VALUE for names that the source does not give. inputs: LAYER=N,C,… for shapes of inputs. as_json:
    whether to write JSON. reader: NAME=PYTHON of the reader of a file that is not Python.
    """

    what: str
    dialect: str
    globs: tuple[str, ...]
    as_module: bool = False
    values: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    as_json: bool = False
    reader: str | None = None


def is_graph_file(what: str) -> bool:
    """Whether the text names a model file that a reader reads, which is not a source text."""
    return "(" not in what and any(what.lower().endswith(one.suffixes) for one in registry.model_readers().values())


def graph_text(request: ModelRequest, background: TranslationBackground) -> Iterator[str]:
    """Yield the lines of the translation of a model file that is a graph. A module is written for a plain chain."""
    surfaces, styles = _targets(request)
    if request.values:
        raise ConformanceError("--set: not for a model file, which has all values")
    framework = request.dialect.partition(".")[0].partition("-")[0]
    reader, python = find_reader(request.what, request.reader or framework)
    shapes = parse_input_shapes(request.inputs)
    model = read_model(ModelSource(request.what, reader, python, shapes), READ_SECONDS)
    translator = SourceTranslator(framework, (), surfaces, styles, registry.other_layers(), background)
    layers = translate_nodes(model, translator)
    if not layers:
        raise ConformanceError(f"{request.what}: it has no nodes")
    if request.as_module and not model.is_chain:
        yield from comment_lines("no chain: a node reads several values or one of an earlier node, so this is the list")
        request = replace(request, as_module=False)
    yield from translated_lines(layers, surfaces, styles, request.what, request)


def find_source(what: str, reader: str | None = None) -> Path | None:
    """Return the file of a model, or None if the text is a layer. Nothing is imported.

    reader: NAME=PYTHON, the interpreter in whose environment a module is searched for, too.
    """
    if what.endswith(SOURCE_SUFFIX) and "(" not in what:
        return Path(what)
    if not MODULE_NAME.fullmatch(what):
        return None
    python = (reader or "").partition("=")[2]
    return _module_file(what, [*sys.path, *(_search_path(python) if python else ())])


def _search_path(python: str) -> Sequence[str]:
    """Return the folders in which an interpreter searches for modules."""
    command = [python, "-c", "import json, sys; print(json.dumps(sys.path))"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=SECONDS, text=True)  # noqa: S603
        return [str(one) for one in json.loads(done.stdout)]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ConformanceError(f"--reader: {python}: {getattr(error, 'strerror', None) or 'no Python'}") from None


def _module_file(name: str, folders: Sequence[str]) -> Path | None:
    """Return the source file of a module; its packages are searched for, not imported."""
    places: Sequence[str] | None = [str(Path.cwd()), *folders]
    spec = None
    for depth, _ in enumerate(parts := name.split("."), 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or [])
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(SOURCE_SUFFIX) else None


def model_text(path: Path, request: ModelRequest, background: TranslationBackground) -> Iterator[str]:
    """Yield the lines of the translation of a model."""
    framework = request.dialect.partition(".")[0].partition("-")[0]
    surfaces, styles = _targets(request)
    others = registry.other_layers()
    dialects = find_dialects(request.dialect)
    names = {name for one in others.get(framework, ()) for name in one.all_names}
    given = dict(_assignment(one) for one in request.values)
    found = read_model_source(_read_text(path), str(path), dialects, names, given)
    if all(one.is_foreign for one in found):
        raise ConformanceError(f"{path}: no layer of {request.dialect} found")
    shapes = _shapes(request.inputs, {name for one in found for name in (one.name, one.full_name)})
    translator = SourceTranslator(
        framework,
        dialects,
        surfaces,
        styles,
        others,
        background,
        shapes,
        registry.separate_arguments(),
        surfaces_of_dialects(dialects),
    )
    layers = [translator.translate(layer) for layer in found]
    yield from translated_lines(layers, surfaces, styles, str(path), request)


def _targets(request: ModelRequest) -> tuple[Sequence[tuple[Backend, Surface]], Mapping[str, ModuleStyle]]:
    """Return the surfaces of a request, and the styles of modules."""
    if not request.globs:
        raise ConformanceError(f"{Path(request.what).name}: a model needs --to with a framework or surface")
    surfaces, styles = find_surfaces(request.globs), registry.module_styles()
    without = [surface.name for _, surface in surfaces if surface.name not in styles]
    if request.as_module and without:
        raise ConformanceError(f"--as module: {without[0]} has no modules; those of {', '.join(styles)} can be written")
    return surfaces, styles


def translated_lines(
    layers: Sequence[TranslatedLayer],
    surfaces: Sequence[tuple[Backend, Surface]],
    styles: Mapping[str, ModuleStyle],
    where: str,
    request: ModelRequest,
) -> Iterator[str]:
    """Yield the lines of translated layers in the style and format of a request."""
    if request.as_json:
        yield json.dumps(json_value(layers_record(layers, where)), ensure_ascii=False, indent=1)
        return
    if not request.as_module:
        yield from list_lines(layers, where)
        yield from _summary(layers)
        return
    texts: dict[str, list[str]] = {}
    for _, surface in surfaces:
        texts.setdefault("\n".join(module_lines(layers, surface.name, styles[surface.name])), []).append(surface.name)
    place = layers[0].layer.scope.place
    for text, named in texts.items():
        yield from comment_lines(f"{', '.join(named)}: the layers of {where}, {place} by {place}")
        yield text


def _summary(layers: Sequence[TranslatedLayer]) -> Iterator[str]:
    """Yield the number of translated layers, and what to give for the others."""
    counts = Counter(layer.kind for layer in layers)
    further = [f"{counts[kind]} {words[counts[kind] != 1]}" for kind, words in FURTHER_LAYERS.items() if counts[kind]]
    yield ""
    yield "; ".join(filter(None, [_counts_text(layers), ", ".join(further)]))
    asked = [
        one.layer.full_name for one in layers if one.needs_shape or any(target.needs_shape for target in one.targets)
    ]
    if asked:
        yield f"give the shape of the input of {', '.join(dict.fromkeys(asked))}: --input LAYER=N,C,…"


def _counts_text(layers: Sequence[TranslatedLayer]) -> str:
    """Return how many window operators are translated, for each target if the targets differ."""
    windows = [layer for layer in layers if layer.kind in {LayerKind.TRANSLATED, LayerKind.UNTRANSLATED}]
    translated = Counter(target.surface for layer in windows for target in layer.targets if target.steps)
    names = dict.fromkeys(target.surface for layer in windows for target in layer.targets)
    numbers = {translated[name] for name in names} or {0}
    if len(numbers) == 1:
        return f"{numbers.pop()} of {len(windows)} window operators translated"
    each = ", ".join(f"{translated[name]} of {len(windows)} to {name}" for name in names)
    return f"window operators translated: {each}"


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            raise ConformanceError(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
        if len(data) > MAX_SOURCE_BYTES:
            raise ConformanceError(f"{path}: more than {MAX_SOURCE_BYTES} bytes")
        return data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConformanceError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None


def _assignment(text: str) -> tuple[str, Any]:
    """Return the name and the value of NAME=VALUE."""
    name, _, value = text.partition("=")
    try:
        if name and len(value) <= MAX_VALUE_LENGTH:
            return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        pass
    raise ConformanceError(f"--set {text[:MAX_VALUE_LENGTH]}: expected NAME=VALUE with a number or a string in quotes")


def _shapes(inputs: Sequence[str], names: set[str]) -> Mapping[str, tuple[int, ...]]:
    found = {}
    for text in inputs:
        name, _, shape = text.rpartition("=")
        if not re.fullmatch(r"[0-9]{1,9}([,x][0-9]{1,9}){2,7}", shape):
            raise ConformanceError(f"--input {text[:MAX_VALUE_LENGTH]}: expected LAYER=N,C,… with the extents")
        if name not in names:
            known = ", ".join(sorted(names)[:MAX_LISTED_NAMES])
            raise ConformanceError(f"--input {text[:MAX_VALUE_LENGTH]}: no layer {name!r}; the source has {known}, …")
        found[name] = tuple(map(int, re.split("[,x]", shape)))
    return found
