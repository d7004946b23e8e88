"""Make the surface of a route from its source surface and its exporter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from conformance.adapters.api import (
    INDENT,
    Lowering,
    ProgramWrapper,
    Recipe,
    RouteBatch,
    RouteStages,
    Sizes,
    Surface,
    calls_with_other_sizes,
    function_lines,
)
from conformance.adapters.api.morphology import recipes as morphology
from conformance.adapters.api.normalization import recipes as normalization
from conformance.adapters.api.quantization import formulas as quantization
from conformance.adapters.api.resizing import affine_grids
from conformance.cases.operators import WEIGHT_INPUTS
from reports.results.vocabulary import Level

FIXED: Sizes = MappingProxyType({})
"""The sizes of a model whose inputs have fixed extents."""
SourceExport = Callable[[Sequence[str], Sequence[str], Sequence[str], Sizes], Sequence[str]]
"""Takes the lines of a program, the names of its weights, those of its other inputs, and the sizes that vary.

Returns lines that export the program."""

RecipesOfSource = Callable[[Mapping[str, Lowering]], Mapping[str, Recipe]]
"""Takes the lowerings of a source, and returns recipes, see RouteStages."""


@dataclass(frozen=True)
class ModelRunner:
    """How a runtime runs an exported model.

    load: lines that load it. run: takes the names of the inputs, and returns lines that assign a NumPy array to `x`.
    run_all: lines that run a model with the inputs `named`, a dict of NumPy arrays, and assign its outputs, as NumPy
    arrays in their order, to the list `results`. Empty if no batch runs.
    """

    load: Sequence[str]
    run: Callable[[Sequence[str]], Sequence[str]]
    run_all: Sequence[str] = ()

    def lines(self, inputs: Sequence[str], sizes: Sizes, ones: str) -> Sequence[str]:
        """Return lines that load the model and run it: for the sizes that vary first, with arrays of ones.

        ones: the template of an array, see calls_with_other_sizes.
        """
        if not sizes:
            return (*self.load, *self.run(inputs))
        _decorator, *definition, call = function_lines("", "infer", self.run(inputs), inputs)
        return (*self.load, *definition, *calls_with_other_sizes(sizes, inputs, "infer({})", ones), call)


@dataclass(frozen=True)
class BatchExport:
    """How an exporter writes one model of several programs.

    part: takes the lines of a program, the names of its weights and those of its other inputs, and returns lines that
    assign `model`. export: lines that export `models` with `inputs`, see RouteBatch, as one model, and assign `named`,
    a dict of the NumPy arrays of all inputs. max_programs: see RouteBatch.
    """

    part: Callable[[Sequence[str], Sequence[str], Sequence[str]], Sequence[str]]
    export: Sequence[str]
    max_programs: int = RouteBatch.max_programs


# An export takes longer than a call. Cases without the tag are run with --slow.
DYNAMIC_FIELDS: Mapping[str, object] = {"max_level": Level.SMOKE, "slow_tag": "dynamic", "only_tagged": True}


def split_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the weights, which are constants of a model, and of the other inputs."""
    return [name for name in names if name in WEIGHT_INPUTS], [name for name in names if name not in WEIGHT_INPUTS]


def model_lines(
    decorator: str,
    name: str,
    lines: Sequence[str],
    weights: Sequence[str],
    inputs: Sequence[str],
    *,
    weight: str = "{}",
) -> Sequence[str]:
    """Return the lines as a function of the inputs, decorated unless `decorator` is "". Weights become its constants.

    weight: the expression of a weight, for an exporter that does not take arrays.
    """
    # A name that the lines assign is local, so the function reads the weights under another name.
    constants = [f"weights = {', '.join(map(weight.format, weights))}"] if weights else []
    read = [f"{', '.join(weights)} = weights"] if weights else []
    *definition, _call = function_lines(decorator, name, [*read, *lines], inputs)
    return [*constants, *(definition if decorator else definition[1:])]


def module_lines(lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]) -> Sequence[str]:
    """Return lines that assign `model`, a module of PyTorch with the lines. Weights are its buffers."""
    body = [*(f"{name} = self.{name}" for name in weights), *(part for line in lines for part in line.split("\n"))]
    return [
        "class Model(nn.Module):",
        f"{INDENT}def forward(self, {', '.join(inputs)}):",
        *(f"{INDENT}{INDENT}{line}" for line in body),
        f"{INDENT}{INDENT}return x",
        "model = Model().eval()",
        *(f'model.register_buffer("{name}", {name})' for name in weights),
    ]


NOT_EXPORTED: Mapping[str, Lowering] = {
    **normalization.NOT_WRITTEN,
    **affine_grids.NOT_WRITTEN,
    **morphology.NOT_WRITTEN,
    **quantization.NOT_WRITTEN,
}
"""Operators that only some routes export yet, see make_route()."""


def _without_new_operators(source: Surface, exported: Collection[str]) -> Surface:
    """Return the source without the operators of NOT_EXPORTED, except those that are exported."""
    known = {*source.lowerings, *source.fallbacks} - {*exported}
    missing = {name: lowering for name, lowering in NOT_EXPORTED.items() if name in known}
    lowerings, fallbacks = ({**those, **missing} for those in (source.lowerings, source.fallbacks))
    return replace(source, lowerings=lowerings, fallbacks=fallbacks) if missing else source


def _route_batch(
    batch: BatchExport, route: Surface, runners: Sequence[ModelRunner | None], to_numpy: str
) -> RouteBatch:
    """Return how programs of a route run as one. runners: the runtime, and the other implementation if there is one."""

    def wrap(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        weights, inputs = split_names(names)
        return [*batch.part(lines, weights, inputs), f"x = model, ({', '.join(inputs)},)"]

    part = replace(route, to_numpy="x", wrap_program=wrap)
    lines, evaluation = ((*batch.export, *one.load, *one.run_all) if one and one.run_all else () for one in runners)
    return RouteBatch(part, lines, to_numpy, batch.max_programs, evaluation)


def _program_wrapper(
    export: SourceExport, runner: ModelRunner | None, ones: str, sizes: Sizes, *, channels_last: bool
) -> ProgramWrapper:
    """Return how a program is exported and run. Without a runner, it returns its input after the export."""

    def wrap(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
        weights, inputs = split_names(names)
        varying = {name: one.channels_last() if channels_last else one for name, one in sizes.items() if name in inputs}
        ran = runner.lines(inputs, varying, ones) if runner else ["x = np.asarray(x)"]
        return [*export(lines, weights, inputs, varying), *ran]

    return wrap


def make_route(
    source: Surface,
    name: str,
    runtime_name: str,
    export: SourceExport,
    run: ModelRunner,
    *,
    to_numpy: str,
    evaluate: ModelRunner | None = None,
    is_independent: bool = True,
    without_dtypes: Collection[str] = (),
    ones: str = "",
    recipes: RecipesOfSource = lambda _lowerings: {},
    batch: BatchExport | None = None,
    exported: Collection[str] = (),
    **fields: object,
) -> Surface:
    """Return the surface of a route.

    runtime_name: the surface of the runtime, for its ledger entries. export: writes the export of a program.
    run, evaluate: run the model with the runtime, and with another implementation. is_independent: see RouteStages.
    to_numpy: converts `x`, the array of the runtime, to channels first. without_dtypes: dtypes that the runtime does
    not take. ones: for models whose inputs have symbolic extents, the template of an array of another size.
    recipes: returns what to write instead of calls that do not survive. batch: how several programs become one model,
    if the extents are fixed and `run` runs such models. exported: the operators of NOT_EXPORTED that the route exports.
    fields: further fields of the surface.
    """

    def wrapped(surface: Surface, runner: ModelRunner | None) -> Surface:
        wrapper = partial(_program_wrapper, export, runner, ones, channels_last=source.channels_last)
        if not ones:
            return replace(surface, wrap_program=wrapper(FIXED))
        return replace(surface, with_sizes=lambda one, sizes: replace(one, wrap_program=wrapper(sizes)))

    route = replace(
        _without_new_operators(source, exported),
        name=name,
        to_numpy=to_numpy,
        words={},
        chain_words={},
        drawn={},
        mixed_precision=None,
        numpy_inputs=None,
        write_gradient=None,
        dtypes={operator: dtypes - {*without_dtypes} for operator, dtypes in source.dtypes.items()},
        **{**(DYNAMIC_FIELDS if ones else {}), **fields},  # type: ignore[arg-type]  # fields of Surface by name
    )

    stages = RouteStages(
        source_name=source.name,
        runtime_name=runtime_name,
        source=replace(route, to_numpy=source.to_numpy),
        export=wrapped(route, None),
        evaluator=wrapped(route, evaluate) if evaluate else None,
        is_independent=is_independent,
        recipes=recipes(source.lowerings),
        batch=_route_batch(batch, route, (run, evaluate), to_numpy) if batch and run.run_all and not ones else None,
    )
    return replace(wrapped(route, run), route=stages)
