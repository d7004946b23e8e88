"""Fuzzed case files, locks, exports, ledgers and declarations: they are read, or each error is one clear line.

HYPOTHESIS_PROFILE=nightly draws forty times as many: 20,000 documents together with test_hostile_results.
"""

import hashlib
import json

import pytest
import yaml
from hypothesis import given, strategies as st

from conformance import CatalogueError
from conformance.adapters.api import declarations
from conformance.cases.schema import catalogue_folder
from conformance.catalogue import export as exports
from conformance.judging import ledger
from tests.support.guarded_command import bounded, check_printable, command
from tests.support.mutated_documents import bytes_changed, changed, dumped, hostile
from tests.support.nightly import only_nightly

SECTIONS = ("cases", "questions", "rejects")
SWEEP = {
    "id": "sides",
    "level": "standard",
    "cover": "pairs",
    "factors": {
        "rank": [1, 2],
        "extent": [[5, 4]],
        "window": [2, [3, 2]],
        "stride": [1, 2],
        "padding": [0, 1, "same_upper"],
    },
    "x": {"values": "integers"},
}
FILES = sorted(catalogue_folder().glob("*/*.yaml"))


def excerpts(path):
    """Yield four versions of a case file, each with one item of each section."""
    document = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    json_document = json.loads(json.dumps(document, default=str))
    for turn in range(4):
        items = {
            key: [json_document[key][turn * len(json_document[key]) // 4]] for key in SECTIONS if key in json_document
        }
        yield {"operator": document["operator"], "source": "a test", **items}


CATALOGUES = [document for path in FILES for document in excerpts(path)]
CATALOGUES += [{"operator": name, "source": "a test", "sweeps": [SWEEP]} for name in ("max_pool", "avg_pool")]
CONTENTS = [yaml.dump(document, Dumper=yaml.CSafeDumper).encode() for document in CATALOGUES]
ENTRIES = yaml.load(ledger.ledger_path().read_text("utf-8"), yaml.CSafeLoader)["entries"][:30]
LEDGERS = [{"entries": ENTRIES[start : start + 3]} for start in range(0, len(ENTRIES), 3)]
DECLARED = yaml.load((declarations.ADAPTERS / "torch" / "torch.yaml").read_text("utf-8"), yaml.CSafeLoader)
DECLARATIONS = [{name: dict(list(answers.items())[:4])} for name, answers in DECLARED.items()]
LOCKS = [
    {
        "format": 2,
        "version": "1.4.0",
        "cases": {"max_pool/sides/1d-i5-w2-s1": "00" * 16 + " 11 22 33", "max_pool/a": "0" * 32},
        "sweeps": {"max_pool/wide": "10 00 11"},
        "unreleased": {"cases": {"max_pool/b": ""}},
    }
]


def written(folder, content, name="file.yaml"):
    """Write a document; return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else dumped(content))
    return path


def commands_on(folder, path, turn):
    """Run two commands on a catalogue: `list`, and `check` after an error or another one. turn: index of that one."""
    status, out, _ = command(folder, "list", "--cases", path)
    if status:
        command(folder, "check", path, "--no-cache", "--jobs", 1)
        return
    first = out.splitlines()[0]
    further = (
        ("check", path, "--no-cache", "--jobs", 1),
        ("show", first, "--cases", path),
        ("translate", first, "--cases", path),
        ("repro", first, "--cases", path, "--surface", "numpy.loops"),
        ("export", folder / "out", "--cases", path),
    )
    command(folder, *further[turn % len(further)])
    assert not (folder / "zqx").exists()


TURNS = st.integers(0, 4)


@only_nightly
@hostile(6000)
@given(document=changed(CATALOGUES), turn=TURNS)
def test_changed_case_file(folder, document, turn):
    commands_on(folder, written(folder, document), turn)


@hostile(1000)
@given(
    content=bytes_changed([yaml.dump(document, Dumper=yaml.CSafeDumper).encode() for document in CATALOGUES]),
    turn=TURNS,
)
def test_case_file_with_other_bytes(folder, content, turn):
    commands_on(folder, written(folder, content), turn)


@hostile(800)
@given(document=changed(LOCKS), turn=TURNS)
def test_changed_lock_of_a_case_file(folder, document, turn):
    written(folder / "cases", document, "lock.json")
    commands_on(folder, written(folder / "cases" / "pooling", CATALOGUES[-2]), turn)


def read_ledger(folder, path, monkeypatch):
    """Run the command that reads the ledger on this one."""
    monkeypatch.setattr(ledger, "ledger_path", lambda: path)
    command(folder, "ledger", "--cases", written(folder, CATALOGUES[-2], "cases.yaml"))


@hostile(2000)
@given(document=changed(LEDGERS))
def test_changed_ledger(folder, monkeypatch, document):
    read_ledger(folder, written(folder, document), monkeypatch)


@hostile(400)
@given(content=bytes_changed([dumped(document) for document in LEDGERS]))
def test_ledger_with_other_bytes(folder, monkeypatch, content):
    read_ledger(folder, written(folder, content), monkeypatch)


def read_declarations(folder):
    """Load the declarations of a backend. Check that each error is one line with the path."""
    with bounded(folder):
        try:
            declarations.load_declarations("torch", DECLARED, folder)
        except CatalogueError as error:
            for line in str(error).splitlines():
                assert line.startswith(str(folder)), line
                check_printable(line.removeprefix(str(folder)))


@hostile(1600)
@given(document=changed(DECLARATIONS))
def test_changed_declarations(folder, document):
    written(folder, document, "torch.yaml")
    read_declarations(folder)


@hostile(400)
@given(content=bytes_changed([(declarations.ADAPTERS / "torch" / "torch.yaml").read_bytes()[:2000]]))
def test_declarations_with_other_bytes(folder, content):
    written(folder, content, "torch.yaml")
    read_declarations(folder)


@pytest.fixture(scope="module")
def export(catalogue, tmp_path_factory):
    """The files of an exported catalogue by name: exact cases, cases with an error bound, and conventions."""
    folder = tmp_path_factory.mktemp("export")
    cases = catalogue.select("smoke", globs=["max_pool/book*", "avg_pool/bo*", "avg_pool/div*"])
    exports.write_export(catalogue, cases, folder / "out")
    return {str(path.relative_to(folder / "out")): path.read_bytes() for path in (folder / "out").glob("**/*.*")}


def shipped(folder, files, *, forged):
    """Write an export. forged: update the digests of the manifest to the changed files."""
    for path in folder.glob("forged/**/*.*"):
        path.unlink()
    for name, content in files.items():
        written(folder / "forged", content, name)
    if forged:
        manifest = json.loads(files["manifest.json"])
        digests = {name: hashlib.sha256(files[name]).hexdigest() for name in manifest["files"]}
        written(folder / "forged", {**manifest, "files": digests}, "manifest.json")
    return folder / "forged"


@hostile(3000)
@given(data=st.data())
def test_changed_record_of_an_export(folder, export, data):
    document = json.loads(export["catalogue.json"])
    cases = [{**document, "cases": [case]} for case in document["cases"]]
    files = {**export, "catalogue.json": dumped(data.draw(changed(cases)))}
    commands_on(folder, shipped(folder, files, forged=True), data.draw(TURNS))


@hostile(600)
@given(data=st.data())
def test_changed_manifest_of_an_export(folder, export, data):
    files = {**export, "manifest.json": dumped(data.draw(changed([json.loads(export["manifest.json"])])))}
    commands_on(folder, shipped(folder, files, forged=False), data.draw(TURNS))


@hostile(800)
@given(data=st.data())
def test_export_with_other_bytes_in_its_arrays(folder, export, data):
    name = data.draw(st.sampled_from(sorted(name for name in export if name.endswith(".npy"))))
    files = {**export, name: data.draw(bytes_changed([export[name]]))}
    commands_on(folder, shipped(folder, files, forged=True), data.draw(TURNS))
