"""The shards of a run."""

import pytest

from conformance.execution.selection import Shard, parse_shard

IDS = [f"max_pool/case-{number}" for number in range(200)]


def test_every_case_is_in_exactly_one_shard():
    shards = [Shard(number, 3) for number in (1, 2, 3)]
    parts = [{name for name in IDS if shard.contains(name, None)} for shard in shards]
    assert set.union(*parts) == {*IDS}
    assert sum(map(len, parts)) == len(IDS)
    assert min(map(len, parts)) > 40


def test_cases_of_one_convention_are_in_one_shard():
    assert {Shard(1, 7).contains(name, "max_pool/q") for name in IDS} in ({True}, {False})


def test_file_is_named_after_the_shard():
    assert (str(Shard(2, 5)), Shard(2, 5).file_name) == ("2/5", "2-of-5.jsonl")


def test_shard_is_parsed():
    assert parse_shard("2/5") == Shard(2, 5)
    assert parse_shard("100000/100000") == Shard(100_000, 100_000)


@pytest.mark.parametrize("text", ["0/5", "6/5", "1/100001", "1", "1/2/3", "-1/2", "a/b", ""])
def test_other_texts_are_no_shards(text):
    with pytest.raises(ValueError, match=r"is not K/N with 1 ≤ K ≤ N ≤ 100,000"):
        parse_shard(text)
