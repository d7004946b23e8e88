"""`conformance translate`: a case, an operator with parameters or a layer as people write it, on every surface."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.cases.arrays import json_value
from conformance.cases.case import Case
from conformance.cases.operators import GRADIENT_SUFFIX, OPERATORS
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import loading
from conformance.cli.lookup import find_case, find_surfaces, nearest_name_hint
from conformance.cli.options import CASES_OPTION
from conformance.cli.parameter_types import NumberType, PaddingType, ShapeType, SizesType
from conformance.judging import ledger
from conformance.judging.conventions import find_conventions
from conformance.translation import text, verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.layer import layer_notes, parse_layer
from conformance.translation.side_by_side import TranslationBackground, translate_case

PADDING_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
OUTPUT_FORMATS = ("text", "markdown", "json")
OPERATOR_OUTPUTS = ("values", "indices")
PARAMETER_OPTIONS: Mapping[str, tuple[Any, str]] = {
    "window": (SizesType(), "Extent of the window or kernel: 3, or one number an axis, 3,2."),
    "stride": (SizesType(), "Step of the window. [default: the window; 1 for convolutions]"),
    "padding": (
        PaddingType(),
        "1; one number an axis, 1,0; before:after, 1:0 or 1:0,2:2; valid, same_upper, same_lower.",
    ),
    "dilation": (SizesType(), "Distance of neighbouring cells of the window."),
    "rounding": (
        click.Choice(["floor", "ceil", "full"]),
        "How the size of the output is rounded; see docs/semantics.md.",
    ),
    "count_include_pad": (None, "Whether an average counts padding."),
    "divisor": (NumberType(), "What sums of an average are divided by, whatever they count."),
    "p": (NumberType(), "The power of a norm."),
    "groups": (click.INT, "Groups of channels of a convolution."),
    "output_size": (SizesType(), "Extents of the output, of adaptive pooling and of unpooling."),
    "output_padding": (SizesType(), "What a transposed convolution adds after each axis."),
    "pads": (PaddingType(()), "What pad adds, as --padding is written; less than 0 crops."),
    "mode": (click.Choice(PADDING_MODES), "How pad fills."),
    "value": (NumberType(), "What pad fills with in mode constant."),
    "output": (click.Choice(OPERATOR_OUTPUTS), "Which result of max_pool_with_indices."),
    "ties": (click.Choice(["first", "last", "all", "split"]), "Which of equal cells gets the gradient."),
}


CasePaths = tuple[Path, ...]


def _add_parameter_options(command: Any) -> Any:
    """Add an option for each parameter of any operator."""
    for name, (kind, about) in reversed(list(PARAMETER_OPTIONS.items())):
        option = f"--{name.replace('_', '-')}"
        if kind is None:
            command = click.option(f"{option}/--no-{option[2:]}", name, default=None, help=about)(command)
        else:
            metavar = getattr(kind, "metavar", None)
            command = click.option(option, name, type=kind, metavar=metavar, help=about)(command)
    return command


@dataclass(frozen=True)
class TranslationRequest:
    """What is to be translated: the case, how it was asked for if no catalogue holds it, and what is said of that."""

    case: Case
    request: CaseRequest | None = None
    notes: tuple[str, ...] = ()
    has_default_shape: bool = False


@click.command("translate")
@click.argument("what", metavar="CASE|OPERATOR|LAYER")
@_add_parameter_options
@click.option("--rank", type=click.IntRange(1, 6), metavar="N", help="Number of spatial axes. [default: 2]")
@click.option(
    "--shape", type=ShapeType(), metavar="N,C,…", help="Shape of the input, (n, c, *spatial). [default: a small one]"
)
@click.option("--dtype", metavar="D", help="Dtype of the input. [default: float32]")
@click.option("--channels", type=click.IntRange(0), metavar="N", help="Channels of the input.")
@click.option("--out-channels", type=click.IntRange(1), metavar="N", help="Channels of the output of a convolution.")
@click.option(
    "--kernel-shape",
    type=ShapeType(),
    metavar="O,I,…",
    help="Shape of the weights, (out, in/groups, *window); of conv_transpose (in, out/groups, …).",
)
@click.option("--bias/--no-bias", default=None, help="Whether a convolution has a bias.")
@click.option(
    "--gradient",
    is_flag=False,
    flag_value="x",
    type=click.Choice(["x", "kernel", "bias"]),
    help="The gradient with respect to x, kernel or bias, in place of the operator itself.",
)
@click.option("--from", "dialect", metavar="S", help="Read a layer as it is written on this surface.")
@click.option(
    "--surface",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="Only these. [default: all but lesser forms of others]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="The form.",
)
@click.option(
    "--verified",
    "summary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What has been verified, from `conformance verified`, in place of what comes with the suite.",
)
@CASES_OPTION
def translate_command(
    what: str,
    *,
    dialect: str | None,
    globs: tuple[str, ...],
    kind: str,
    summary: Path | None,
    paths: tuple[Path, ...],
    **said: Any,
) -> None:
    """Print the programs that do the same on each surface; no framework needs to be installed.

    What is translated is a case of the catalogue, an operator with parameters, or a layer as it is written somewhere:
    --from reads that and never runs it. Each program comes with what differs from other surfaces, with how many cases
    of the suite verify it, and with what is known to deviate.

    Example: conformance translate max_pool --window 3 --stride 2 --padding 1
    """
    asked = _translation_request(what, dialect, paths, {key: value for key, value in said.items() if value is not None})
    surfaces = find_surfaces(globs)
    found = translate_case(asked.case, surfaces, _load_background(asked.case, summary), asked.request)
    about = text.TranslatedCase(asked.case, asked.notes, has_default_shape=asked.has_default_shape)
    if kind == "json":
        click.echo(json.dumps(json_value(text.translations_record(about, found)), ensure_ascii=False, indent=1))
    else:
        click.echo("\n".join(text.TEXT_FORMATS[kind](about, found)))


def _translation_request(
    what: str, dialect: str | None, paths: tuple[Path, ...], said: dict[str, Any]
) -> TranslationRequest:
    if dialect is not None:
        return _layer_request(what, dialect, said)
    if what in OPERATORS:
        return _operator_request(what, said)
    if "(" in what:
        raise ConformanceError(f"{what[:60]!r}: a layer is read with --from, one of {', '.join(registry.dialects())}")
    case = find_case(paths, what, operators=True)
    if said:
        option = next(iter(said)).replace("_", "-")
        raise ConformanceError(f"--{option}: goes with an operator; {what} is a case, which has its parameters already")
    return TranslationRequest(case)


INPUT_OPTIONS = ("rank", "shape", "dtype", "channels", "kernel_shape", "out_channels", "bias", "gradient")


def _operator_request(name: str, said: dict[str, Any]) -> TranslationRequest:
    """Return what an operator and options ask for; the name of a gradient asks for that."""
    if name.endswith(GRADIENT_SUFFIX):
        said = {"gradient": "x", **said}
    given = {key: value for key, value in said.items() if key not in INPUT_OPTIONS}
    return _request_case(CaseRequest(name.removesuffix(GRADIENT_SUFFIX), given), said, ())


def _request_case(request: CaseRequest, said: Mapping[str, Any], told: tuple[str, ...]) -> TranslationRequest:
    """Return the case of a request with what the options say of its inputs."""
    inputs: dict[str, Any] = {
        {"kernel_shape": "kernel"}.get(key, key): said[key] for key in INPUT_OPTIONS if key in said
    }
    if inputs.get("gradient") == "bias":
        inputs.setdefault("bias", True)
    whole = replace(request, **inputs)
    if not whole.has_kernel:
        for key in ("bias", "kernel_shape", "out_channels"):
            if key in said:
                raise ConformanceError(f"{request.operator}: --{key.replace('_', '-')}: it has no weights")
    return TranslationRequest(whole.case(), whole, told, has_default_shape=whole.shape is None)


def _layer_request(what: str, dialect: str, said: dict[str, Any]) -> TranslationRequest:
    known = registry.dialects()
    spoken = {id(one): one for one in known.values() if dialect in one.prefixes}
    if dialect not in known and len(spoken) == 1:  # people say what they import, which may be of several surfaces
        known |= {dialect: next(iter(spoken.values()))}
    if dialect not in known:
        raise ConformanceError(
            f"--from {dialect}: no layers are read there, known are {', '.join(known)}{nearest_name_hint(dialect, known)}"
        )
    further = [key for key in said if key not in INPUT_OPTIONS]
    if further:
        raise ConformanceError(f"--{further[0].replace('_', '-')}: stands in the layer, not beside it")
    found = parse_layer(what, known[dialect], said.get("shape"), said.get("kernel_shape"))
    asked = _request_case(found.request, said, ())
    told = (f"so {dialect} means {' '.join(what.split())}", *layer_notes(found, asked.case.parameters))
    return replace(asked, notes=told)


def _load_background(case: Case, summary: Path | None) -> TranslationBackground:
    """Return what is known of the operator of a case: only its own files are read for that."""
    names = {case.operator, case.operator.removesuffix(GRADIENT_SUFFIX)}
    files = [path for name in sorted(names) for path in sorted(catalogue_folder().glob(f"*/{name}.yaml"))]
    asked = find_conventions(loading.load_catalogue(files).cases) if files else []
    return TranslationBackground(asked, ledger.load_ledger(), _load_summary(summary))


def _load_summary(path: Path | None) -> verified.VerifiedSummary:
    if path is None:
        return verified.shipped_summary()
    try:
        return verified.parse_summary(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConformanceError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
