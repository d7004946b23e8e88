"""The comparison of results on the terminal."""

import json
import re

from tests.support.compared_runs import (
    NN,
    POOL,
    WORST,
    WRONG,
    alpha,
    write_hostile_runs,
)
from tests.support.example_results import differing, result


def test_changed_status_is_listed_with_case_surface_and_both_statuses(diff):
    failed = differing(POOL, NN, WRONG, WORST)
    status, out, _ = diff(alpha(result(POOL, NN)), alpha(failed))
    assert status == 1
    assert out.splitlines() == [
        "✓ pass → ✗ fail  max_pool, alpha: 1 result",
        f"  {POOL} on {NN}: value: at [0, 0, 1, 1] expected 15, got 14",
        "",
        "1 result compared (alpha): 1 changed status.",
        "✗ Something changed",
    ]


def test_long_groups_are_shortened_on_the_terminal_and_complete_in_json(diff):
    names = [f"alpha.{number}" for number in range(30)]
    old, new = (
        alpha(*(result(POOL, name, digest=digest) for name in names), surfaces=names) for digest in ("00", "11")
    )
    _, out, _ = diff(old, new)
    assert out.count(f"  {POOL} on alpha.") == 10
    assert "  and 20 more (--format json lists all)" in out.splitlines()
    assert len(json.loads(diff(old, new, "--format", "json")[1])["changes"]) == 30


def test_terminal_shows_one_new_result_and_counts_the_others(diff):
    names = [f"alpha.{number}" for number in range(5)]
    old, new = (alpha(*(result(POOL, name) for name in some), surfaces=names) for some in (names[:1], names))
    _, out, _ = diff(old, new)
    assert out.splitlines()[:3] == [
        "new  max_pool, alpha: 4 results",
        f"  {POOL} on alpha.1: pass",
        "  and 3 more (--format json lists all)",
    ]


def test_control_characters_in_texts_are_escaped_on_the_terminal(tmp_path, conformance):
    for paths in write_hostile_runs(tmp_path):
        status, out, _ = conformance("diff", *paths)
        assert status == 1
        conformance("diff", *paths, "--out", tmp_path / "out.txt")
        for text in (out, (tmp_path / "out.txt").read_text("utf-8")):
            assert not re.search("[^\n -~]", re.sub("[✓✗!→…≈–~]", "", text))
            assert "\\x1b[31m" in text
            assert "[red]x[/]" in text
