"""`conformance merge`: errors of its arguments."""


def test_missing_shards_are_an_error_of_one_line(conformance, tmp_path):
    status, out, errors = conformance("merge", tmp_path, "--out", tmp_path / "whole.jsonl")
    assert (status, out, len(errors)) == (2, "", 1)
    assert errors[0].endswith(": contains no shards")
    assert not (tmp_path / "whole.jsonl").exists()
