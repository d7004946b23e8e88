"""Words of results files as enums."""

import json

from reports.results.vocabulary import Level, Status


def test_members_are_their_texts_in_files_and_messages():
    assert json.dumps([Status.TIMED_OUT, Level.SMOKE]) == '["timed_out", "smoke"]'
    assert f"{Status.FAIL} {Level.EXHAUSTIVE!s}" == "fail exhaustive"
    assert Status("known") is Status.KNOWN


def test_statuses_are_in_the_order_of_severity():
    assert list(Status) == [
        "fail",
        "crashed",
        "timed_out",
        "flaky",
        "stale",
        "known",
        "undeclared",
        "refused",
        "slow",
        "unsupported",
        "pass",
    ]
    assert list(Level) == ["smoke", "standard", "exhaustive"]
