"""Modules that a run imports before its first worker is launched and before its first result, as imports take time."""

import json
import subprocess
import sys

import pytest

LARGE = {"jsonschema", "jinja2", "pyarrow", "duckdb", "dask", "distributed", "multiprocessing", "email"}
LARGE |= {
    "conformance.catalogue.describe",
    "conformance.exploration",
    "conformance.execution.distributed.shards",
    "reports.views.html",
}
LATER = {
    "rich",
    "packaging",
    "yaml",
    "conformance.catalogue.loading",
    "conformance.judging.ledger",
    "conformance.execution.run",
}
# The declarations of the backend are read with msgspec, whose import takes 9 ms.
LATER |= {"conformance.cli.run_backends", "conformance.adapters.onnx", "reports.analysis", "reports.views"}
RECORD_IMPORTS = """\
import json, os, sys
from conformance.execution import worker_process

launch, known = worker_process.Worker.launch, {}

def launching(worker):
    if "launched" not in known:
        known["launched"] = sorted(sys.modules)
        # Imported after the record: the command itself does not need it yet.
        from conformance.execution import results_file
        write = results_file.ResultsFile.write

        def writing(file, record):
            if type(record).__name__ == "ResultRecord":
                print(json.dumps({**known, "first result": sorted(sys.modules)}), flush=True)
                os._exit(0)
            write(file, record)

        results_file.ResultsFile.write = writing
    return launch(worker)

worker_process.Worker.launch = launching
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
    """Modules imported when the first worker is launched, and when the first result is written."""
    command = [sys.executable, "-c", RECORD_IMPORTS, *RUN, "--out", tmp_path_factory.mktemp("start")]
    for _ in range(2):  # the first run may have to fill caches
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {when: set(modules) for when, modules in json.loads(output).items()}


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


def test_only_the_adapter_that_is_run_is_imported(imported):
    names = {name.split(".")[2] for name in imported["first result"] if name.startswith("conformance.adapters.")}
    assert names == {"api", "registry", "numpy"}


def test_wrong_usage_imports_no_command():
    found = subprocess.run([sys.executable, "-c", WRONG], check=False, capture_output=True, text=True)
    assert found.returncode == 2
    assert not {name for name in found.stdout.split() if name.startswith("conformance.cli.commands.")}
