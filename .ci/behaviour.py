"""Verify that a refactoring changed no behaviour: record programs and results before and after it, and compare.

    python .ci/behaviour.py record before.json      programs of every backend for every case of the catalogue
    python .ci/behaviour.py record before.json --results build/conformance/results/*.jsonl
    python .ci/behaviour.py compare before.json after.json
    python .ci/behaviour.py compare before.json after.json --texts     require the same texts and digests, too

A record contains, for each backend, the digest of each program by case and surface, or the reason why the case is
unsupported, and each result of the given results files without its duration. Run `record` before and after the
refactoring, on one machine, with results of the same backends. By default, texts for people may differ: descriptions,
reasons of ledger entries and error messages of the suite.

Exit status: 0 the same, 1 different, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Record = Mapping[str, Mapping[str, Any]]

TIMES = {"seconds", "started"}
"""Fields of a result that differ between two runs of the same suite."""
TEXTS = {"ledger", "reason", "observed", "issue", "message", "about", "source", "said"}
"""Fields of a result that are written for people."""
MAX_SHOWN = 20
"""Number of differences that are printed of each kind."""


def programs() -> dict[str, dict[str, str]]:
    """Return, for each backend, the digest of each program by "case @ surface", or the reason if it is unsupported."""
    return {name: dict(_programs_of(name)) for name in _modules()[1].backend_names()}


def _modules() -> tuple[Any, Any, Any]:
    # Imported on demand: `compare` works without the suite, for example on records of two different checkouts.
    from conformance.adapters import registry  # noqa: PLC0415
    from conformance.catalogue import loading  # noqa: PLC0415
    from conformance.translation.lowering import translate  # noqa: PLC0415

    return loading, registry, translate


def _programs_of(backend: str) -> Iterator[tuple[str, str]]:
    loading, registry, translate = _modules()
    for case in loading.load_catalogue().cases:
        for surface in registry.get_backend(backend).surfaces:
            program = translate(case, surface)
            supported = hasattr(program, "digest")
            text = f"{program.how} {program.digest}" if supported else f"unsupported: {program.reason}"
            yield f"{case.id} @ {surface.name}", text


def results(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return the results of each results file by "case @ surface", without their durations."""
    return {path.stem: dict(_results_of(path)) for path in paths}


def _results_of(path: Path) -> Iterator[tuple[str, Any]]:
    for line in path.read_text("utf-8").splitlines():
        record = {key: value for key, value in json.loads(line).items() if key not in TIMES}
        kind = record["record"]
        if kind == "result":
            yield f"{record['case']} @ {record['surface']}", record
        elif kind in {"case", "program"}:
            yield f"{kind} {record[kind]}", record
        elif kind == "convention":
            yield f"convention {record['question']} @ {record['surface']}", record
        else:
            yield kind, record


def differences(old: Record, new: Record, *, texts: bool) -> Iterator[str]:
    """Yield a line for each difference between two parts of a record."""
    for backend in sorted({*old, *new}):
        before, after = old.get(backend), new.get(backend)
        if before is None or after is None:
            yield f"{backend}: only in the {'new' if before is None else 'old'} record"
            continue
        for key in sorted({*before, *after}):
            if _comparable(before.get(key), texts=texts) != _comparable(after.get(key), texts=texts):
                yield f"{backend}: {key}: {_changed(before.get(key), after.get(key))}"


def _comparable(value: Any, *, texts: bool) -> Any:
    if texts:
        return value
    if isinstance(value, str) and value.startswith("unsupported: "):
        return "unsupported"
    if not isinstance(value, dict):
        return value
    if value.get("record") == "header":
        return {key: value.get(key) for key in ("backend", "level", "surfaces")}
    return {key: inner for key, inner in value.items() if key not in TEXTS}


def _changed(before: Any, after: Any) -> str:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return f"{before} -> {after}"
    fields = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    return ", ".join(f"{key} {str(before.get(key))[:80]} -> {str(after.get(key))[:80]}" for key in fields)


def main() -> int:
    """Run the subcommand of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write a record of this checkout")
    record.add_argument("out", type=Path, help="the record to write, JSON")
    record.add_argument("--results", type=Path, nargs="*", default=[], help="results files to include")
    compare = commands.add_parser("compare", help="compare two records")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("--texts", action="store_true", help="texts for people must be the same, too")
    options = parser.parse_args()
    if options.command == "record":
        recorded = {"programs": programs(), "results": results(options.results)}
        options.out.write_text(json.dumps(recorded), "utf-8")
        print(*(f"{name}: {len(found):,} programs" for name, found in recorded["programs"].items()), sep="\n")
        print(*(f"{name}: {len(found):,} records of results" for name, found in recorded["results"].items()), sep="\n")
        return 0
    old, new = (json.loads(path.read_text("utf-8")) for path in (options.old, options.new))
    different = False
    for part in ("programs", "results"):
        found = [*differences(old[part], new[part], texts=options.texts)]
        total = sum(map(len, old[part].values()))
        print(f"{part}: {len(found):,} differences in {total:,} entries of {len(old[part])} backends")
        print(*(f"  {line}" for line in found[:MAX_SHOWN]), sep="\n" if found else "")
        different |= bool(found) or (part == "programs" and not total)
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
