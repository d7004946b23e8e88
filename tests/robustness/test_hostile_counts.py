"""Number of fuzzed documents of the nightly job: the sum of the counts in the tests is at least the documented one."""

import ast
from pathlib import Path

import pytest

from tests.support.mutated_documents import hostile

HERE = Path(__file__).parent
DOCUMENTED_COUNT = 20_000


def counts_by_test():
    """Return the number of documents of each fuzz test, by its name."""
    return {
        test.name: ast.literal_eval(decorator.args[0])
        for path in sorted(HERE.glob("test_hostile_*.py"))
        for test in ast.parse(path.read_text("utf-8")).body
        if isinstance(test, ast.FunctionDef)
        for decorator in test.decorator_list
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "hostile"
    }


def test_nightly_job_draws_the_documented_number():
    of_files = {name: count for name, count in counts_by_test().items() if "frame" not in name and "reply" not in name}
    assert len(of_files) > 10
    assert sum(of_files.values()) >= DOCUMENTED_COUNT


@pytest.mark.parametrize(("profile", "count"), [("nightly", 4000), ("suite", 100), (None, 100)])
def test_profile_sets_the_number_of_documents(monkeypatch, profile, count):
    monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
    if profile:
        monkeypatch.setenv("HYPOTHESIS_PROFILE", profile)
    assert hostile(4000).max_examples == count
