"""Draw a random sample of the differences that a full run reports, and record what the frameworks return for it.

    python benchmarks/sample_differences.py population --run results/torch.jsonl --out torch.jsonl
    python benchmarks/sample_differences.py draw torch.jsonl jax.jsonl ... --out sample.json
    conformance run --level standard --backend torch=... --case CASE ...
    python benchmarks/sample_differences.py observe sample.json RESULTS...

A difference is a case of level standard on a surface that runs it, where

- a ledger entry applies: a run at level standard reports it as known; or
- the surface declares an answer to a convention other than that of the reference.

The sample is stratified by these two kinds. New differences do not occur in a run without findings. The population is
computed from the ledger and the declarations, for the packages and the processor of a run (--run): its cases do not
matter.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from conformance import CatalogueError
from conformance.adapters.api import Program, Surface, without_label
from conformance.adapters.registry import get_backend
from conformance.cases.case import Case
from conformance.catalogue import loading
from conformance.cli.results_io import load_results
from conformance.execution.targets import ledger_for
from conformance.exploration.conventions import reference_answer
from conformance.translation.lowering import translate
from reports.results import ResultRecord
from reports.results.reader import read_header
from reports.results.vocabulary import Level, Status

SIZES = {"known": 70, "convention": 30}
"""Size of the sample of each kind."""
SEED = 20261128
MAX_OBSERVED = 160
"""Maximum number of characters of what was observed."""
LEVELS = (Level.SMOKE, Level.STANDARD)


def population(name: str, packages: Mapping[str, str], cpu: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the differences of a backend: case, surface, kind, and the ledger entry or the convention.

    packages: versions; cpu: instruction sets of the processor.
    """
    backend = get_backend(name)
    surfaces = [one.for_processor(cpu) for one in backend.surfaces if one.is_run(Level.STANDARD, (), Level.STANDARD)]
    ledger = ledger_for(backend).for_surfaces([one.name for one in surfaces], packages, cpu)
    for case in loading.load_catalogue().cases:
        for surface in surfaces if case.level in LEVELS else ():
            entry = ledger.find_entry(case, surface.name, packages, cpu)
            cause = {"kind": "known", "cause": entry.id} if entry else _convention(case, surface)
            if cause and isinstance(translate(case, surface), Program):
                yield {"backend": name, "case": case.id, "surface": surface.name, **cause}


def _convention(case: Case, surface: Surface) -> dict[str, str] | None:
    """Return the convention of a case if the surface declares another answer than that of the reference."""
    if case.convention_id is None:
        return None
    declaration = surface.declarations.get(case.convention_id)
    if declaration is None:
        return None
    answer = declaration.for_case(case.id).answer
    expected = _reference_answer(case.convention_id)
    return None if answer in {expected, None} or not expected else {"kind": "convention", "cause": case.convention_id}


@cache
def _reference_answer(convention: str) -> str:
    """Return the answer of the reference; "" if none of the answers is its result, or it has no such parameter."""
    try:
        return reference_answer(convention)
    except (CatalogueError, ValueError, TypeError):
        return ""


def draw(differences: Sequence[dict[str, str]], seed: int = SEED) -> list[dict[str, str]]:
    """Return a simple random sample of each kind without replacement, in the order of the population."""
    rng, sample = random.Random(seed), []  # noqa: S311 - a sample, not a secret
    for kind, size in SIZES.items():
        of_kind = [one for one in differences if one["kind"] == kind]
        chosen = rng.sample(range(len(of_kind)), min(size, len(of_kind)))
        sample += [of_kind[number] for number in sorted(chosen)]
    return sample


def observe(sample: dict[str, Any], paths: Sequence[Path]) -> None:
    """Add status, answer and what was returned or raised to the items of a sample, from results files."""
    runs = [run for path in paths for run in load_results([path]).runs]
    found = {(one.case, one.surface): one for run in runs for one in run.results}
    answers = {(one.case, one.surface): one for run in runs for one in run.conventions}
    for item in sample["items"]:
        one = found.get((item["case"], item["surface"]))
        # On a busy machine a time limit says nothing about the case.
        if one and one.status != Status.TIMED_OUT:
            answer = answers.get((item["case"], item["surface"]))
            item |= {
                "status": one.status, "kind_of_difference": one.kind or "",
                "observed": _observed(one, answer and answer.observed),
            }  # fmt: skip


def _worst_text(result: ResultRecord) -> str:
    """Return the cell with the largest error; "" without one."""
    worst = result.worst
    return f"at {list(worst.index)} expected {worst.expected}, got {worst.got}" if worst else ""


def _observed(result: ResultRecord, answer: str | None) -> str:
    """Return what a surface returned, raised or answered, in one line."""
    message = (result.message or "").strip().partition("\n")[0]
    texts = [f"answered {answer}" if answer else "", _worst_text(result), message]
    return "; ".join(filter(None, texts))[:MAX_OBSERVED]


def main() -> None:
    """Parse the command line; draw a sample, or add what was observed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("population")
    listing.add_argument("--run", type=Path, required=True, metavar="RESULTS")
    listing.add_argument("--out", type=Path, required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("population", type=Path, nargs="+")
    drawing.add_argument("--out", type=Path, required=True)
    observing = commands.add_parser("observe")
    observing.add_argument("sample", type=Path)
    observing.add_argument("results", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "population":
        header = read_header(arguments.run)
        found = population(without_label(header.backend), header.environment.packages, header.environment.cpu)
        lines = (json.dumps(one) + "\n" for one in found)
        arguments.out.write_text("".join(lines), "utf-8")
    elif arguments.command == "draw":
        write_sample(arguments.out, sample_of(arguments.population))
    else:
        sample = json.loads(arguments.sample.read_text("utf-8"))
        observe(sample, arguments.results)
        write_sample(arguments.sample, sample)


def sample_of(paths: Sequence[Path]) -> dict[str, Any]:
    """Return a sample of the populations in files, with the number of differences by backend and kind."""
    differences = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    counts = Counter(f"{one['backend']} {one['kind']}" for one in differences)
    return {"seed": SEED, "population": dict(sorted(counts.items())), "items": draw(differences)}


def write_sample(path: Path, sample: dict[str, Any]) -> None:
    """Write a sample as JSON."""
    path.write_text(json.dumps(sample, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
