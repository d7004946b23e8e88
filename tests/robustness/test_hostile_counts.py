"""How many hostile documents the nightly job draws: a promise that is kept by adding up what the tests ask for."""

import ast
from pathlib import Path

import pytest

from tests.support.mutated_documents import hostile

HERE = Path(__file__).parent
PROMISED = 20_000


def asked():
    """Return what each test of hostile documents asks for, by its name."""
    return {
        test.name: ast.literal_eval(decorator.args[0])
        for path in sorted(HERE.glob("test_hostile_*.py"))
        for test in ast.parse(path.read_text("utf-8")).body
        if isinstance(test, ast.FunctionDef)
        for decorator in test.decorator_list
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "hostile"
    }


def test_nightly_job_draws_as_many_documents_as_are_promised():
    of_files = {name: count for name, count in asked().items() if "frame" not in name and "reply" not in name}
    assert len(of_files) > 10
    assert sum(of_files.values()) >= PROMISED


@pytest.mark.parametrize(("profile", "count"), [("nightly", 4000), ("suite", 100), (None, 100)])
def test_profile_decides_how_many_are_drawn(monkeypatch, profile, count):
    monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
    if profile:
        monkeypatch.setenv("HYPOTHESIS_PROFILE", profile)
    assert hostile(4000).max_examples == count
