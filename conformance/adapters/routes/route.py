"""Make the surface of a route from its source surface and its exporter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from conformance.adapters.api import ProgramWrapper, RouteStages, Surface, function_lines
from conformance.cases.operators import WEIGHT_INPUTS

SourceExport = Callable[[Sequence[str], Sequence[str], Sequence[str]], Sequence[str]]
"""Takes the lines of a program, the names of its weights and of its other inputs. Returns lines that export it."""
ModelRunner = Callable[[Sequence[str]], Sequence[str]]
"""Takes the names of the inputs. Returns lines that run the exported model, and assign a NumPy array to `x`."""


def split_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the weights, which are constants of a model, and of the other inputs."""
    return [name for name in names if name in WEIGHT_INPUTS], [name for name in names if name not in WEIGHT_INPUTS]


def model_lines(
    decorator: str, name: str, lines: Sequence[str], weights: Sequence[str], inputs: Sequence[str]
) -> Sequence[str]:
    """Return the lines as a decorated function of the inputs. It refers to the weights, which become constants."""
    # A name that the lines assign is local, so the function reads the weights under another name.
    constants = [f"weights = {', '.join(weights)}"] if weights else []
    read = [f"{', '.join(weights)} = weights"] if weights else []
    *definition, _call = function_lines(decorator, name, [*read, *lines], inputs)
    return [*constants, *definition]


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
    **fields: object,
) -> Surface:
    """Return the surface of a route.

    runtime_name: the surface of the runtime, for its ledger entries. export: writes the export of a program.
    run, evaluate: run the model with the runtime, and with another implementation. is_independent: see RouteStages.
    to_numpy: converts `x`, the array of the runtime, to channels first. without_dtypes: dtypes that the runtime does
    not take. fields: further fields of the surface.
    """

    def wrapper(run: ModelRunner | None) -> ProgramWrapper:
        def wrap(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
            weights, inputs = split_names(names)
            # The program of the stage that only exports returns its input.
            return [*export(lines, weights, inputs), *(run(inputs) if run else ["x = np.asarray(x)"])]

        return wrap

    route = replace(
        source,
        name=name,
        to_numpy=to_numpy,
        words={},
        chain_words={},
        drawn={},
        mixed_precision=None,
        numpy_inputs=None,
        write_gradient=None,
        dtypes={operator: dtypes - {*without_dtypes} for operator, dtypes in source.dtypes.items()},
        wrap_program=wrapper(run),
        **fields,  # type: ignore[arg-type]  # fields of Surface by name
    )
    stages = RouteStages(
        source_name=source.name,
        runtime_name=runtime_name,
        source=replace(route, to_numpy=source.to_numpy, wrap_program=None),
        export=replace(route, wrap_program=wrapper(None)),
        evaluator=replace(route, wrap_program=wrapper(evaluate)) if evaluate else None,
        is_independent=is_independent,
    )
    return replace(route, route=stages)
