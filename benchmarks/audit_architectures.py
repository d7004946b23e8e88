"""Audit well-known networks with random weights on several targets, and write docs/audit.md.

    python benchmarks/audit_architectures.py --python TORCH_PYTHON --target onnxruntime=PYTHON … --out docs/audit.md

TORCH_PYTHON needs PyTorch and torchvision. Networks are not audited again on the targets for which the JSON file of an
earlier run has them, so that targets can be added one after the other.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.adapters import registry
from conformance.cli.commands.audit import AuditTarget, parse_target, run_audit
from conformance.models.reading import ModelSource, read_model
from conformance.models.records import audit_record
from reports.analysis.audits import remarks_of
from reports.results.audits import LayerVerdict

ROOT = Path(__file__).parents[1]
NETWORKS_MODULE = "benchmarks.architectures"
MAX_COLUMNS = 6
"""Number of targets in one table."""
INTRODUCTION = """\
# Audits of well-known networks

The table shows which networks compute the same numbers where. Each was built by torchvision or from its definition,
with random weights, and audited with [`conformance audit`](how-to/audit-a-model.md).
`python benchmarks/audit_architectures.py` repeats the measurement of the networks in `benchmarks/architectures.py`.

- **same**: every layer is one call of the target and agrees with the reference for all inputs of the audit. Where the
  convolutions of the target have no bias, it is added after the call.
- **rewrite**: every layer agrees, and some need more than one call, such as explicit padding.
- **known**: some layers differ for some inputs, as the ledger of the suite or a declared answer to a convention says.
- **differs**: a difference is not explained.
- **unsupported**: the target has no such layer, or the suite has no program for it.

A cell has the most severe verdict, the number of distinct layers with it, whether other layers need a rewrite, and the
seconds of the audit on a shared machine with two cores, without reading the model.
"""


def networks(python: str) -> Any:
    """Return the table of networks, which only the interpreter with PyTorch can import."""
    code = f"import json, {NETWORKS_MODULE} as m; print(json.dumps(m.NETWORKS))"
    return json.loads(subprocess.run([python, "-c", code], cwd=ROOT, check=True, capture_output=True).stdout)  # noqa: S603


def audit_network(source: ModelSource, targets: Sequence[AuditTarget]) -> dict[str, Any]:
    """Return the record of one network."""
    started = time.monotonic()
    model = read_model(source)
    record: dict[str, Any] = {
        "read": time.monotonic() - started,
        "layers": len(model.layers),
        "cells": {},
        "remarks": {},
    }
    audit = run_audit(model, targets, 60.0)
    record["distinct"] = len(audit.layers)
    for target in audit.targets:
        worst = audit.worst(target)
        count = sum(one.verdicts[target].verdict is worst for one in audit.layers)
        record["cells"][target] = [worst.value, count, audit.seconds[target], audit.versions[target]]
        record["remarks"][target] = [
            [one.verdict.value, one.text, one.names] for one in remarks_of(audit_record(audit)) if one.target == target
        ]
    return record


def with_targets(earlier: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a network with the targets of two audits."""
    return {**added, **{key: {**earlier[key], **added[key]} for key in ("cells", "remarks")}}


def page(records: Mapping[str, Any]) -> str:
    """Return the Markdown page."""
    return (
        "\n".join([INTRODUCTION, *table(records), "", "## Which layers, and why", "", *reasons(records)]).rstrip()
        + "\n"
    )


def targets_of(records: Mapping[str, Any]) -> list[str]:
    """Return the targets of the records."""
    return list(dict.fromkeys(target for record in records.values() for target in record["cells"]))


def table(records: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table of networks and targets."""
    targets = targets_of(records)
    versions = {t: record["cells"][t][3] for record in records.values() for t in record["cells"]}
    lines = [f"Versions: {', '.join(f'`{t}` with {versions[t]}' for t in targets)}."]
    for start in range(0, len(targets), MAX_COLUMNS):
        lines += ["", *_rows(records, targets[start : start + MAX_COLUMNS])]
    known = {
        text
        for record in records.values()
        for found in record["remarks"].values()
        for verdict, text, _ in found
        if verdict == LayerVerdict.EXPLAINED
    }
    if all(text.startswith("for NaN:") for text in known):
        lines += ["", "Every known difference in the table is about NaN in the input."]
    return lines


def _rows(records: Mapping[str, Any], targets: Sequence[str]) -> list[str]:
    lines = [f"| network | layers (distinct) | {' | '.join(f'`{t}`' for t in targets)} |"]
    lines += ["|---|---|" + "---|" * len(targets)]
    for name, record in records.items():
        cells = []
        for target in targets:
            worst, count, seconds, _ = record["cells"].get(target, ["", 0, 0, ""])
            number = "" if worst == LayerVerdict.SAME else f" {count}"
            found = {verdict for verdict, _, _ in record["remarks"].get(target, [])}
            also = " + rewrite" if LayerVerdict.REWRITE in found and worst != LayerVerdict.REWRITE else ""
            cells.append(f"{worst}{number}{also}, {seconds:.0f} s" if worst else "")
        lines.append(f"| {name} | {record['layers']} ({record['distinct']}) | {' | '.join(cells)} |")
    return lines


def reasons(records: Mapping[str, Any]) -> list[str]:
    """Return the lines with the reasons of the verdicts."""
    lines: list[str] = []
    for target in targets_of(records):
        found: dict[tuple[str, str], list[str]] = {}
        for name, record in records.items():
            for verdict, text, names in record["remarks"].get(target, []):
                found.setdefault((verdict, text), []).append(f"{name} ({names})")
        lines += [f"### {target}", ""]
        for (verdict, text), where in found.items():
            lines.append(f"- **{verdict}** {_escaped(text)}: {'; '.join(map(_escaped, where))}")
        lines += ["No layer differs or needs a rewrite."] * (not found) + [""]
    return lines


def _escaped(text: str) -> str:
    return text.replace("_", "\\_").replace("*", "\\*").replace("<", "\\<")


def main() -> None:
    """Audit the networks and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "audit.md")
    parser.add_argument("--records", type=Path, default=ROOT / "build" / "audited.json")
    options = parser.parse_args()
    records = json.loads(options.records.read_text("utf-8")) if options.records.exists() else {}
    targets = [parse_target(text) for text in options.target]
    for name, (function, shape) in networks(options.python).items():
        earlier = records.get(name, {"cells": {}, "remarks": {}})
        missing = [one for one in targets if one.surface.name not in earlier["cells"]]
        if missing:
            inputs = {"": tuple(map(int, shape.split("x")))}
            reader = registry.model_readers()["torch"]
            source = ModelSource(f"{NETWORKS_MODULE}:{function}", reader, options.python, inputs)
            records[name] = with_targets(earlier, audit_network(source, missing))
            options.records.parent.mkdir(exist_ok=True)
            options.records.write_text(json.dumps(records, indent=1), "utf-8")
            print(name, records[name]["cells"], file=sys.stderr, flush=True)
            options.out.write_text(page(records), "utf-8")
    options.out.write_text(page(records), "utf-8")


if __name__ == "__main__":
    main()
