"""Shards of a run and their merge."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from conformance import ConformanceError
from conformance.catalogue import loading as catalogues
from conformance.execution.distributed.merge import merge_shards, shard_files
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.execution.selection import MAX_SHARDS, Selection, Shard, parse_shard
from conformance.judging.ledger import Ledger
from reports.analysis.summary import nothing_ran, report_verdict
from reports.results import UnreadableResults, reader
from tests.support.fake_backends import SETUP, backend, declares, surface

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
PLAIN = [f"id: {name}, {X}, window: {size}" for name in "abcdefgh" for size in (2,)]
ASKS = "{values: arange, shape: [1, 1, 5, 5]}"
ANSWERS = "answers: {window: {stride: 3}, one: {stride: 1}}"
RIGHT = "x = x[:, :, 1::2, 1::2]"
ENDS = f"if x.shape[-1] == 5:\n    os.abort()\n{RIGHT}"
TIMES = ("seconds", "started")


def written(folder):
    path = folder / "file.yaml"
    question = f"id: q, about: b, x: {ASKS}, window: 3, {ANSWERS}"
    cases = "".join(f"  - {{{text}}}\n" for text in PLAIN)
    path.write_text(f"operator: max_pool\nsource: s\ncases:\n{cases}questions:\n  - {{{question}}}\n", "utf-8")
    return catalogues.load_catalogue([path])


def run(catalogue, part=None, **selection):
    """Return a run with a surface that crashes on the convention case, as it declares, so that this case runs last."""
    surfaces = [
        surface("ends", ENDS, declarations=declares("crashed")),
        surface("right", RIGHT),
        surface("wrong", "x = x - 1"),
    ]
    return Run(
        backend(*surfaces, setup=SETUP),
        catalogue,
        Ledger(),
        RunOptions(Selection(shard=part, **selection), jobs=1),
        python=sys.executable,
    )


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """An undivided run, and its three shards in a folder."""
    folder = tmp_path_factory.mktemp("cut")
    catalogue = written(folder)
    run(catalogue).execute(folder / "whole.jsonl")
    for number in (1, 2, 3):
        run(catalogue, Shard(number, 3)).execute(folder / "shards" / Shard(number, 3).file_name)
    return folder


def shard(cut, number):
    return cut / "shards" / f"{number}-of-3.jsonl"


def without_times(path):
    found = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    return [json.dumps({key: value for key, value in one.items() if key not in TIMES}) for one in found]


def changed(cut, folder, number, change):
    """Copy the shards and change the records of one of them; return the paths."""
    paths = []
    for other in (1, 2, 3):
        records = [json.loads(line) for line in shard(cut, other).read_text("utf-8").splitlines()]
        if other == number:
            records = change(records) or records
        paths.append(folder / f"{other}.jsonl")
        paths[-1].write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return paths


def merge_error(paths, folder):
    """Check that the merge is rejected in one line and writes nothing; return the error."""
    with pytest.raises(ConformanceError) as error:
        merge_shards(paths, folder / "merged.jsonl")
    assert not list(folder.glob("*merged*"))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_merged_shards_equal_the_undivided_run_line_by_line(cut, tmp_path):
    merge_shards(shard_files([cut / "shards"]), tmp_path / "merged.jsonl")
    assert without_times(tmp_path / "merged.jsonl") == without_times(cut / "whole.jsonl")
    report = reader.load_report([tmp_path / "merged.jsonl"])
    assert [one.complete for one in report.backends] == [True]


def test_fatal_results_are_last_in_the_merged_file(cut):
    results = [one for one in map(json.loads, without_times(cut / "whole.jsonl")) if one["record"] == "result"]
    assert [(one["surface"], one["outcome"]) for one in results[-3:]] == [
        ("right", "returned"), ("wrong", "returned"), ("ends", "crashed")]  # fmt: skip


def test_the_order_of_the_files_does_not_matter(cut, tmp_path):
    merge_shards([shard(cut, number) for number in (3, 1, 2)], tmp_path / "merged.jsonl")
    assert without_times(tmp_path / "merged.jsonl") == without_times(cut / "whole.jsonl")


def test_shard_without_cases_is_valid(tmp_path):
    catalogue = written(tmp_path)
    parts = [Shard(number, 40) for number in range(1, 41)]
    empty = next(part for part in parts if not any(part.contains(one.id, one.convention_id) for one in catalogue.cases))
    file = run(catalogue, empty).execute(tmp_path / "empty.jsonl")
    assert file.complete
    (found,) = reader.load_report([tmp_path / "empty.jsonl"]).backends
    assert (len(found.results), nothing_ran(found)) == (0, False)


def test_a_missing_shard_is_named(cut, tmp_path):
    assert merge_error([shard(cut, 2)], tmp_path) == "missing of 3 shards: 1, 3"


def test_duplicate_shard_is_named(cut, tmp_path):
    assert "shard 2/3 is also in" in merge_error([shard(cut, number) for number in (1, 2, 2, 3)], tmp_path)


def test_partial_shard_is_rejected(cut, tmp_path):
    paths = changed(cut, tmp_path, 2, lambda records: records[:-1])
    assert f"{paths[1]}: shard 2/3 is a partial run" in merge_error(paths, tmp_path)


def test_missing_result_is_detected(cut, tmp_path):
    paths = changed(cut, tmp_path, 2, lambda records: [*records[:-2], records[-1]])
    assert "the footer counts" in merge_error(paths, tmp_path)


OTHER_FIELDS = {
    "catalogue": {"version": "", "digest": "another", "cases": 9},
    "ledger": "another",
    "level": "standard",
    "selection": {"surfaces": [], "operators": ["conv"], "cases": []},
    "surfaces": ["ends", "right", "wrong", "another"],
    "backend": "another",
    "repeat": 2,
}


@pytest.mark.parametrize("key", OTHER_FIELDS)
def test_shards_of_another_run_are_rejected(cut, tmp_path, key):
    paths = changed(cut, tmp_path, 3, lambda records: records[0].update({key: OTHER_FIELDS[key]}))
    assert merge_error(paths, tmp_path).endswith(f"{key} differs")


def test_shards_of_another_version_are_rejected(cut, tmp_path):
    paths = changed(cut, tmp_path, 3, lambda records: records[0]["environment"].update(python="3.99.0"))
    assert merge_error(paths, tmp_path).endswith("environment differs")


def test_shards_may_come_from_machines_with_other_kernels(cut, tmp_path):
    paths = changed(cut, tmp_path, 3, lambda records: records[0]["environment"].update(platform="Another-1"))
    merge_shards(paths, tmp_path / "merged.jsonl")
    (found,) = reader.load_report([tmp_path / "merged.jsonl"]).backends
    assert "Another-1, " in found.header.environment.platform


def test_shards_with_another_count_are_rejected(cut, tmp_path):
    paths = changed(cut, tmp_path, 3, lambda records: records[0]["shard"].update(of=4))
    assert "shard 3/4, but" in merge_error(paths, tmp_path)


def test_case_of_another_shard_is_rejected(cut, tmp_path):
    paths = changed(cut, tmp_path, 2, lambda records: records[0]["shard"].update(number=1))
    assert "does not belong to shard 1/3" in merge_error([paths[1], shard(cut, 2), shard(cut, 3)], tmp_path)


def test_undivided_run_is_not_a_shard(cut, tmp_path):
    assert "not a shard of a run" in merge_error([cut / "whole.jsonl"], tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda records: records[0].update(shard={"number": 1}),
        lambda records: records[0].update(environment=[]),
        lambda records: records[-1].update(seconds=[]),
        lambda records: records[-2].pop("place"),
        lambda records: records[-2].update(place=["x", None]),
        lambda records: records[-2].update(place=[0, -7]),
        lambda records: records[1].pop("question"),
    ],
)
def test_malformed_shard_is_rejected_in_one_line(cut, tmp_path, change):
    assert str(tmp_path) in merge_error(changed(cut, tmp_path, 2, lambda records: change(records) and None), tmp_path)


def test_missing_file_is_rejected(tmp_path):
    assert "No such file" in merge_error([tmp_path / "none.jsonl"], tmp_path)


def test_existing_file_is_unchanged_if_merging_fails(cut, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("what was there", "utf-8")
    with pytest.raises(ConformanceError):
        merge_shards([shard(cut, 1)], out)
    assert [path.read_text("utf-8") for path in tmp_path.iterdir()] == ["what was there"]


def test_views_name_the_shard(cut):
    assert report_verdict(reader.load_report([shard(cut, 2)])).sentence.endswith("fake: only shard 2/3.")
    with pytest.raises(UnreadableResults, match="combine shards with conformance merge"):
        reader.load_report([shard(cut, 1), shard(cut, 2)])


def test_another_shard_cannot_be_resumed(cut, tmp_path):
    path = changed(cut, tmp_path, 2, lambda records: records[:-2])[1]
    with pytest.raises(ConformanceError, match="cannot resume, shard differs from this run"):
        run(written(tmp_path), Shard(1, 3)).execute(path, resume=True)


def test_resumed_shard_equals_that_of_an_uninterrupted_run(cut, tmp_path):
    path = changed(cut, tmp_path, 2, lambda records: records[:-2])[1]
    run(written(tmp_path), Shard(2, 3)).execute(path, resume=True)
    assert without_times(path) == without_times(shard(cut, 2))


@given(st.lists(st.text(), unique=True), st.integers(1, 50))
def test_each_case_belongs_to_exactly_one_shard(names, of):
    for name in names:
        assert sum(Shard(number, of).contains(name, None) for number in range(1, of + 1)) == 1


def test_shards_have_similar_sizes(catalogue):
    sizes = [
        sum(Shard(number, 8).contains(case.id, case.convention_id) for case in catalogue.cases)
        for number in range(1, 9)
    ]
    assert sum(sizes) == len(catalogue.cases)
    assert max(sizes) < 1.2 * min(sizes)


def test_shard_of_a_case_never_changes():
    names = [f"max_pool/{name}" for name in ("book-1d", "book-loops", "sides/1d-i7-w2-s1-p0")]
    assert [sum(number for number in range(1, 11) if Shard(number, 10).contains(name, None)) for name in names] == [
        3,
        6,
        4,
    ]


@pytest.mark.parametrize(
    "text", ["0/3", "4/3", "x", "1", "1/0", "-1/3", "1/2/3", "", " 1/2", "١/٢", f"1/{MAX_SHARDS + 1}"]
)
def test_invalid_shard_is_rejected_with_the_format(text, conformance):
    status, _, error = conformance("run", "--shard", text)
    assert (status, len(error)) == (2, 1)
    assert "is not K/N with 1 ≤ K ≤ N" in error[0]


def test_shard_is_parsed_from_its_text():
    assert str(parse_shard("3/7")) == "3/7"


def test_the_command_line_runs_shards_and_merges_them(tmp_path, monkeypatch, conformance):
    monkeypatch.chdir(tmp_path)
    chosen = ("--backend", "numpy", "--operator", "lp_pool", "--quiet")
    assert conformance("run", *chosen)[0] == 0
    for number in (1, 2):
        assert conformance("run", *chosen, "--shard", f"{number}/2", "--out", "out")[0] == 0
    status, out, _ = conformance("merge", "out/shards/numpy", "--out", "merged.jsonl")
    assert (status, out) == (0, "results: merged.jsonl\n")
    assert without_times("merged.jsonl") == without_times("build/conformance/results/numpy.jsonl")
    why = "not a shard of a run (conformance run --shard K/N makes them)"
    assert conformance("merge", tmp_path, "--out", "other.jsonl")[2][0].endswith(why)
