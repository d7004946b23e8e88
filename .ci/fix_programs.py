"""Run the programs that `conformance audit --fix` prints, and compare their results with the reference.

    fix_programs.py .tox

The networks are those of tests/support/rewritten_layers.py, whose layers need several calls on some targets. The audit
runs programs with fewer channels; here the printed text is run, with all channels, in the environment of the target,
also the program for every size that the audit does not run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from conformance.cases.arrays import Array  # noqa: E402
from conformance.judging.expected import compute_expected  # noqa: E402
from conformance.judging.verdict import ProgramOutcome, judge_outcome  # noqa: E402
from conformance.translation.ad_hoc_case import CaseRequest  # noqa: E402
from reports.results.audits import AuditedLayerRecord, AuditRecord  # noqa: E402
from reports.results.vocabulary import Outcome, Verdict  # noqa: E402

NETWORKS = {"Image": "1x3x65x70", "Video": "1x3x6x33x32"}
TARGETS = {
    "onnxruntime": "onnxruntime",
    "litert": "litert",
    "keras-tensorflow.layers": "keras-tensorflow",
    "flax.linen": "jax",
}
"""The environment of each target."""
SECONDS = 600
DRIVER = """\
import json, sys
import numpy as np
program, inputs, result = sys.argv[1:]
names = {}
exec(compile(open(program, encoding="utf-8").read(), program, "exec"), names)
np.save(result, np.asarray(names["run"](**np.load(inputs))))
"""
SECOND_PROGRAM = re.compile(r"^# for every size, not run in this audit:$", re.MULTILINE)


def audit(name: str, shape: str, environments: Path, folder: Path) -> AuditRecord:
    """Return the audit of a network with the programs of each target."""
    path, model = folder / f"{name}.json", ROOT / "tests" / "support" / "rewritten_layers.py"
    targets = [
        f"--target={name}={environments / environment / 'bin' / 'python'}" for name, environment in TARGETS.items()
    ]
    command = [
        *(sys.executable, "-m", "conformance.cli", "audit", f"{model}:{name}", "--input", shape, *targets),
        f"--reader=torch={environments / 'torch' / 'bin' / 'python'}",
        *("--fix", "--full-programs", "--shrink-seconds=0", "--format=json", f"--output={path}"),
    ]
    subprocess.run(command, check=True, cwd=ROOT, timeout=SECONDS)  # noqa: S603 - this repository
    return msgspec.json.decode(path.read_bytes(), type=AuditRecord)


def programs(record: AuditRecord) -> Iterator[tuple[AuditedLayerRecord, str, str]]:
    """Yield each layer with a target and a text that defines `run`."""
    for layer in record.layers:
        for target, verdict in layer.verdicts.items():
            for text in SECOND_PROGRAM.split(verdict.program):
                if "def run(" in text:
                    yield layer, target, text


def run(text: str, inputs: Mapping[str, Array], python: Path, folder: Path) -> ProgramOutcome:
    """Return the outcome of a program in the environment of its target."""
    program, given, result = folder / "program.py", folder / "inputs.npz", folder / "result.npy"
    program.write_text(text, "utf-8")
    np.savez(given, **inputs)
    done = subprocess.run(  # noqa: S603 - the environment of a target
        [str(python), "-c", DRIVER, str(program), str(given), str(result)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={"PATH": "", "HOME": str(folder), "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"},
    )
    if done.returncode:
        return ProgramOutcome(Outcome.REJECTED, message=done.stderr[-1000:])
    return ProgramOutcome(Outcome.RETURNED, (np.load(result),))


def main() -> None:
    """Run the programs of every network on every target."""
    environments, bad, count = Path(sys.argv[1]).resolve(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for network, shape in NETWORKS.items():
            for layer, target, text in programs(audit(network, shape, environments, folder)):
                bias = bool(re.search(r"def run\(.*\bbias\b", text))
                given = {name: value for name, value in layer.parameters.items() if value is not None}
                request = CaseRequest(layer.operator, given, shape=layer.shape, kernel=layer.kernel or None, bias=bias)
                expected = compute_expected(request.case())
                outcome = run(text, expected.inputs, environments / TARGETS[target] / "bin" / "python", folder)
                verdict = judge_outcome(outcome, expected.targets[0])
                agrees, count = verdict.verdict is Verdict.AGREE, count + 1
                bad += not agrees
                print(f"{'agrees' if agrees else 'BAD'} {target}: {layer.text} {outcome.message}", flush=True)
    print(f"{count - bad} of {count} programs agree")
    sys.exit(bad > 0 or not count)


if __name__ == "__main__":
    main()
