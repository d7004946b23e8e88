"""What a run does not import before its worker is on its way, or before its first result stands: it takes time."""

import json
import subprocess
import sys

import pytest

LARGE = {"jsonschema", "jinja2", "pyarrow", "duckdb", "dask", "distributed", "multiprocessing", "email"}
LARGE |= {
    "conformance.catalogue.describe",
    "conformance.exploration",
    "conformance.execution.shards",
    "reports.views.html",
}
LATER = {
    "rich",
    "packaging",
    "yaml",
    "sqlite3",
    "conformance.catalogue.loading",
    "conformance.judging.ledger",
    "conformance.execution.run",
}
LATER |= {"conformance.cli.run_backends", "conformance.adapters.onnx", "reports"}
TOLD = """\
import json, os, sys
from conformance import client, results

launch, write, known = client.Worker.launch, results.ResultsFile.write, {}

def launching(worker):
    known.setdefault("launched", sorted(sys.modules))
    return launch(worker)

def writing(file, record):
    if record["record"] == "result":
        print(json.dumps({**known, "first result": sorted(sys.modules)}), flush=True)
        os._exit(0)
    write(file, record)

client.Worker.launch, results.ResultsFile.write = launching, writing
from conformance.cli import main
main(sys.argv[1:])
"""
WRONG = """\
import sys
from conformance.cli import main
try:
    main(["frobnicate"])
finally:
    print(*sys.modules)
"""
RUN = ("run", "--backend", "numpy", "--operator", "max_pool", "--quiet")


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """The modules that were there when the first worker was launched, and when the first result was written."""
    command = [sys.executable, "-c", TOLD, *RUN, "--out", tmp_path_factory.mktemp("start")]
    for _ in range(2):  # the first time something may have to be read that is kept from then on
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {when: set(modules) for when, modules in json.loads(told).items()}


def test_nothing_large_is_imported_before_the_first_result(imported):
    assert not imported["first result"] & LARGE


def test_the_first_worker_is_launched_before_the_rest_of_the_suite_is_imported(imported):
    assert not imported["launched"] & (LARGE | LATER)
    assert imported["first result"] > {
        "rich",
        "conformance.catalogue.loading",
        "conformance.execution.run",
        "conformance.cli.run_backends",
    }


def test_only_the_adapter_that_is_asked_for_is_imported(imported):
    adapters = {name.split(".")[-1] for name in imported["first result"] if name.startswith("conformance.adapters.")}
    assert {name.split("_")[0] for name in adapters} == {"numpy"}


def test_version_and_wrong_usage_need_no_command():
    found = subprocess.run([sys.executable, "-c", WRONG], check=False, capture_output=True, text=True)
    assert found.returncode == 2
    assert not {name for name in found.stdout.split() if name.startswith("conformance.cli_")}
