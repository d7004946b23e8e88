"""Judging of outputs that a program outside of this suite computed: from an export and its outputs to a results file.

The program is a runtime without an adapter, with one surface of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from conformance import ConformanceError, __version__
from conformance.adapters import registry
from conformance.adapters.api import NATIVE, Program, Surface, Unsupported, without_label
from conformance.adapters.api.declarations import read_declarations
from conformance.catalogue.loading import Catalogue
from conformance.execution.outputs.reader import Output
from conformance.execution.records import case_record_line
from conformance.execution.results_file import ResultsFile
from conformance.execution.task import ComputeExpected, Task, TaskJudge
from conformance.judging.ledger import Ledger
from reports.results import CatalogueIdentity, Environment, Header, How, Level, Outcome, SelectionRecord

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}(@[A-Za-z0-9._-]{1,64})?")
"""Name of a runtime: it becomes a file name and the name of a surface."""


@dataclass(frozen=True)
class Runtime:
    """The program that computed the outputs.

    name: of the runtime and its surface, with a label to distinguish two versions ("mylib@old"); version: as text for
    reports, "" if unknown; surface: its surface, with the declared answers to conventions.
    """

    name: str
    version: str = ""
    surface: Surface = field(default_factory=lambda: Surface("", {}))

    @property
    def program(self) -> Program:
        """The program that the judge requires. It is not written to the results file."""
        return Program(self.surface.name, How.NATIVE, "")


def make_runtime(name: str, version: str = "", declarations: Path | None = None) -> Runtime:
    """Return the runtime of this name. declarations: YAML file with its answers to conventions.

    Raises ConformanceError for an invalid name or the name of a backend or surface, CatalogueError for the file.
    """
    if not NAME_PATTERN.fullmatch(name):
        raise ConformanceError(f"name {name!r}: not at most 64 letters, digits, dots, underscores and hyphens")
    base = without_label(name)
    backends = [registry.get_backend(one) for one in registry.backend_names()]
    if base in {backend.name for backend in backends} | {one.name for backend in backends for one in backend.surfaces}:
        raise ConformanceError(f"name {name!r}: a backend or surface of the suite has this name; choose another one")
    answers = read_declarations(declarations, [base]) if declarations else {}
    return Runtime(name, version, Surface(base, {}, declarations=answers.get(base, {})))


def judge_outputs(
    runtime: Runtime,
    catalogue: Catalogue,
    outputs: Mapping[str, Output],
    ledger: Ledger,
    path: Path,
    *,
    compute_expected: ComputeExpected,
    on_line: Callable[[int, bytes], None] = lambda _offset, _line: None,
) -> list[str]:
    """Write the results file of a runtime, and return the ids of the cases without an output.

    path: of the results file, which has no footer if an output is missing. on_line: see ResultsFile.
    """
    environment = _environment(runtime)
    judge = TaskJudge(
        ledger, [runtime.surface], {"packages": environment.packages, "cpu": ()}, environment.device, compute_expected
    )
    missing = []
    with ResultsFile(path, on_line) as file:
        file.open(_header(runtime, catalogue, ledger, environment))
        for case in catalogue.cases:
            if case.id not in outputs:
                missing.append(case.id)
                continue
            expected = compute_expected(case)
            file.write_case(case.id, expected.record_line or case_record_line(case, expected))
            outcome = outputs[case.id].outcome()
            is_unsupported = outcome.kind is Outcome.UNSUPPORTED
            task = Task(case, runtime.surface, Unsupported(outcome.message) if is_unsupported else runtime.program)
            result, convention = judge.judge_task(task, outcome, expected)
            if convention is not None:
                file.write(convention)
            # Reports print a program and the command that reproduces it. Here the suite has none.
            file.write(replace(result, program=None, how=None))
        if not missing:
            file.finish(0.0)
    return missing


def _environment(runtime: Runtime) -> Environment:
    """Return the environment of the outputs. Of the machine that computed them, nothing is known."""
    name = runtime.surface.name
    return Environment(
        python="",
        platform="",
        suite={"nn-conformance": __version__, "numpy": np.__version__},
        packages={name: runtime.version or "unknown"},
        instructions=NATIVE,
        setup={name: ""},
        threads=0,
    )


def _header(runtime: Runtime, catalogue: Catalogue, ledger: Ledger, environment: Environment) -> Header:
    levels = list(Level)
    return Header(
        backend=runtime.name,
        catalogue=CatalogueIdentity(version=catalogue.version, digest=catalogue.digest, cases=len(catalogue.cases)),
        ledger=ledger.digest,
        own_ledger=ledger.own_digest,
        level=max((Level(case.level) for case in catalogue.cases), key=levels.index),
        selection=SelectionRecord(),
        surfaces=(runtime.surface.name,),
        environment=environment,
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
