"""`conformance translate`: print a case, an operator call or a layer as equivalent programs for every surface."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from conformance import ConformanceError
from conformance.cases.arrays import json_value
from conformance.cases.case import Case
from conformance.cases.operators import GRADIENT_SUFFIX, OPERATORS, PARAMETERS
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import loading
from conformance.cli.console import line_width
from conformance.cli.lookup import (
    dialect_frameworks,
    find_case,
    find_dialects,
    find_surfaces,
    surfaces_of_dialects,
)
from conformance.cli.markdown_pages import translation_page
from conformance.cli.model_files import ModelRequest, find_source, graph_text, is_graph_file, model_text
from conformance.cli.options import CASES_OPTION
from conformance.cli.parameter_types import SURFACE_NAME, ShapeType, parameter_help, parameter_type
from conformance.judging import ledger
from conformance.judging.conventions import find_conventions
from conformance.translation import text, verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.layer import layer_notes, parse_framework_layer
from conformance.translation.side_by_side import TranslationBackground, source_deviations, translate_case
from reports.results.files import open_regular


def _add_parameter_options(command: Any) -> Any:
    """Add an option for each parameter of any operator."""
    for name, parameter in reversed([*PARAMETERS.items()]):
        option, kind = f"--{name.replace('_', '-')}", parameter_type(parameter)
        declaration = f"{option}/--no-{option[2:]}" if kind is None else option
        metavar = getattr(kind, "metavar", None)
        add = click.option(declaration, name, type=kind, metavar=metavar, default=None, help=parameter_help(parameter))
        command = add(command)
    return command


MODULE_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
GRADIENT_NAMES = tuple(dict.fromkeys(name for one in OPERATORS.values() if one.is_gradient for name in one.outputs))
"""Names of the inputs that a gradient is computed of, for the operators with several."""


@dataclass(frozen=True)
class TranslationRequest:
    """A case to translate; request: its description if it is not from a catalogue; notes: remarks to print with it."""

    case: Case
    request: CaseRequest | None = None
    notes: tuple[str, ...] = ()
    has_default_shape: bool = False


@click.command("translate")
@click.argument("what", metavar="CASE|OPERATOR|LAYER|FILE")
@_add_parameter_options
@click.option("--rank", type=click.IntRange(1, 6), metavar="N", help="Number of spatial axes. [default: 2]")
@click.option(
    "--shape", type=ShapeType(), metavar="N,C,…", help="Shape of the input, (n, c, *spatial). [default: a small one]"
)
@click.option("--dtype", metavar="D", help="Dtype of the input. [default: float32]")
@click.option("--channels", type=click.IntRange(0), metavar="N", help="Number of input channels.")
@click.option("--out-channels", type=click.IntRange(1), metavar="N", help="Number of output channels of a convolution.")
@click.option(
    "--kernel-shape",
    type=ShapeType(),
    metavar="O,I,…",
    help="Shape of the weights, (out, in/groups, *window); of conv_transpose (in, out/groups, …).",
)
@click.option("--bias/--no-bias", default=None, help="Whether a convolution has a bias.")
@click.option("--mask/--no-mask", default=None, help="Whether a deformable convolution has a mask.")
@click.option(
    "--gradient",
    is_flag=False,
    flag_value="x",
    type=click.Choice(GRADIENT_NAMES),
    help="Translate the gradient with respect to x or another input instead of the operator.",
)
@click.option(
    "--from",
    "dialect",
    metavar="NAME",
    help="Parse the argument as the source text of a layer of this framework or surface, or as a file or module with a "
    "model of it.",
)
@click.option(
    "--surface",
    "--to",
    "globs",
    multiple=True,
    type=SURFACE_NAME,
    metavar="GLOB",
    help="Only surfaces whose name matches, or the usual surface of a framework. Repeatable. [default: all primary "
    "surfaces]",
)
@click.option(
    "--as",
    "style",
    type=click.Choice(["list", "module"]),
    default="list",
    show_default=True,
    help="For a model: list its layers, or write them as classes, or graphs, of each surface.",
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="For a model: the value of a name that the source does not give. Repeatable.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="LAYER=SHAPE",
    help="For a model: the shape of the input of a layer, such as pool=1x64x112x112; for a model file that is a graph, "
    "[NAME=]SHAPE of an input of the model. Repeatable.",
)
@click.option(
    "--reader",
    metavar="NAME[=PYTHON]",
    help="For a model file: the framework that reads it, and the interpreter that has this framework. For the module "
    "of a model: the interpreter whose environment contains the module.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--verified",
    "summary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Counts of verified cases, written by `conformance verified`. [default: the counts shipped with the suite]",
)
@CASES_OPTION
def translate_command(
    what: str,
    *,
    dialect: str | None,
    globs: tuple[str, ...],
    output_format: str,
    summary: Path | None,
    paths: tuple[Path, ...],
    style: str,
    values: tuple[str, ...],
    inputs: tuple[str, ...],
    reader: str | None,
    **options: Any,
) -> None:
    """Print equivalent programs for every surface. No framework needs to be installed.

    The argument is a case of the catalogue, an operator with options for its parameters, or with --from the source
    text of a layer, or the file or module of a model. Source text is parsed and never executed. Each program is
    printed with its differences from other surfaces, the number of cases of the suite that verify it, and its known
    deviations.

    Example: conformance translate max_pool --window 3 --stride 2 --padding 1
    """
    given = {key: value for key, value in options.items() if value is not None}
    source = find_source(what, reader) if dialect is not None else None
    is_graph = dialect is not None and is_graph_file(what)
    if dialect is not None and (source is not None or is_graph):
        _check_model_options(source or Path(what), given, output_format, style)
        model = ModelRequest(what, dialect, globs, style == "module", values, inputs, output_format == "json", reader)
        background = TranslationBackground((), ledger.load_ledger(), _load_summary(summary))
        lines = model_text(source, model, background) if source is not None else graph_text(model, background)
        click.echo("\n".join(lines).lstrip("\n"))
        return
    if dialect is not None and MODULE_PATH.fullmatch(what):
        raise ConformanceError(
            f"{what}: neither a call of a layer, which has parentheses, nor a module in this folder or in the "
            f"environment of {sys.executable}; --reader {dialect}=PYTHON names another one"
        )
    if inputs:
        raise ConformanceError("--input: names a layer of a model; the shape for this layer is --shape N,C,…")
    for option, value in (
        ("--as module", style == "module"),
        ("--set", values),
        ("--reader", reader),
    ):
        if value:
            raise ConformanceError(f"{option}: only for a model, a file that ends with .py or a module, with --from")
    request = _translation_request(what, dialect, paths, given)
    surfaces = find_surfaces(globs)
    background = _load_background(request.case, summary)
    found = translate_case(request.case, surfaces, background, request.request)
    known = source_deviations(request.case, surfaces_of_dialects(find_dialects(dialect)), background) if dialect else ()
    notes = (*request.notes, *(f"! {one}" for one in known))
    about = text.TranslatedCase(request.case, notes, has_default_shape=request.has_default_shape)
    if output_format == "json":
        click.echo(json.dumps(json_value(text.translations_record(about, found)), ensure_ascii=False, indent=1))
    elif output_format == "markdown":
        click.echo(translation_page(about, found), nl=False)
    else:
        click.echo("\n".join(text.text_lines(about, found, line_width(text.TRANSLATION_TEXT_WIDTH))))


def _check_model_options(source: Path, given: Mapping[str, Any], output_format: str, style: str) -> None:
    """Raise ConformanceError for an option that a model does not have."""
    if given:
        option = next(iter(given)).replace("_", "-")
        hint = "; the shape for a layer is --input LAYER=N,C,…" if option == "shape" else ""
        raise ConformanceError(f"--{option}: not for a model; the layers of {source.name} specify it{hint}")
    if output_format == "markdown":
        raise ConformanceError("--format markdown: a model is printed as text or json")
    if output_format == "json" and style == "module":
        raise ConformanceError("--format json: not with --as module")


def _translation_request(
    what: str, dialect: str | None, paths: tuple[Path, ...], options: dict[str, Any]
) -> TranslationRequest:
    if dialect is not None:
        return _layer_request(what, dialect, options)
    if what in OPERATORS:
        return _operator_request(what, options)
    if "(" in what:
        raise ConformanceError(f"{what[:60]!r}: a layer needs --from, one of {', '.join(dialect_frameworks())}")
    case = find_case(paths, what)
    if options:
        option = next(iter(options)).replace("_", "-")
        raise ConformanceError(f"--{option}: only for an operator; {what} is a case and specifies its parameters")
    return TranslationRequest(case)


OPTIONAL_INPUTS = ("bias", "mask")
"""Inputs that a request has only if an option or a gradient needs them."""
INPUT_OPTIONS = ("rank", "shape", "dtype", "channels", "kernel_shape", "out_channels", "bias", "mask", "gradient")


def _operator_request(name: str, options: dict[str, Any]) -> TranslationRequest:
    """Return the request for an operator with options; the name of a gradient operator implies --gradient."""
    if name.endswith(GRADIENT_SUFFIX):
        options = {"gradient": "x", **options}
    parameters = {key: value for key, value in options.items() if key not in INPUT_OPTIONS}
    return _complete_request(CaseRequest(name.removesuffix(GRADIENT_SUFFIX), parameters), options)


def _complete_request(request: CaseRequest, options: Mapping[str, Any]) -> TranslationRequest:
    """Return a request completed with the options about its inputs, such as --shape and --dtype."""
    inputs: dict[str, Any] = {
        {"kernel_shape": "kernel"}.get(key, key): options[key] for key in INPUT_OPTIONS if key in options
    }
    if inputs.get("gradient") in OPTIONAL_INPUTS:
        inputs.setdefault(inputs["gradient"], True)
    complete = replace(request, **inputs)
    if OPERATORS[complete.operator].has_channel_kernels:
        for key in ("bias", "out_channels"):
            if key in options:
                raise ConformanceError(f"{request.operator}: --{key.replace('_', '-')}: the operator has a kernel only")
    if not complete.has_kernel:
        for key in ("bias", "kernel_shape", "out_channels"):
            if key in options:
                raise ConformanceError(f"{request.operator}: --{key.replace('_', '-')}: the operator has no weights")
    if "mask" in options and "mask" not in complete.case_operator.inputs:
        raise ConformanceError(f"{request.operator}: --mask: the operator has no mask")
    return TranslationRequest(complete.case(), complete, has_default_shape=complete.shape is None)


def _layer_request(what: str, dialect: str, options: dict[str, Any]) -> TranslationRequest:
    dialects = find_dialects(dialect)
    parameters = [key for key in options if key not in INPUT_OPTIONS]
    if parameters:
        raise ConformanceError(
            f"--{parameters[0].replace('_', '-')} cannot be combined with --from: the layer specifies it"
        )
    layer = parse_framework_layer(what, dialects, options.get("shape"), options.get("kernel_shape"))
    request = _complete_request(layer.request, options)
    notes = (f"meaning of {' '.join(what.split())} in {dialect}", *layer_notes(layer, request.case.parameters))
    return replace(request, notes=notes)


def _load_background(case: Case, summary: Path | None) -> TranslationBackground:
    """Return the conventions of a case's operator, the ledger and the verified counts."""
    names = {case.operator, case.operator.removesuffix(GRADIENT_SUFFIX)}
    # Only the files of this operator are read: the whole catalogue takes much longer.
    files = [path for name in sorted(names) for path in sorted(catalogue_folder().glob(f"*/{name}.yaml"))]
    conventions = find_conventions(loading.load_catalogue(files).cases) if files else []
    return TranslationBackground(conventions, ledger.load_ledger(), _load_summary(summary))


def _load_summary(path: Path | None) -> verified.VerifiedSummary:
    if path is None:
        return verified.shipped_summary()
    try:
        with open_regular(path) as file:
            return verified.parse_summary(file.read().decode("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConformanceError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
