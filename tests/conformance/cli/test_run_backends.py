import pytest

from conformance.adapters import registry
from tests.conformance.execution.test_confirmation import CASES, damage, maximum
from tests.support.fake_backends import backend, family


@pytest.mark.parametrize("is_damaged", [True, False])
def test_the_summary_counts_results_that_were_others_after_other_programs(
    tmp_path, monkeypatch, conformance, is_damaged
):
    further = damage("x = x + 1") if is_damaged else (lambda _stride: ())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "get_backend", lambda *_: backend(maximum(further), name="numpy"))
    path = family(tmp_path, *CASES)
    status, output, _ = conformance("run", "--backend", "numpy", "--cases", path, "--jobs", 1, "--quiet")
    assert status == 0
    assert ("1 result differed after other programs had run" in " ".join(output.split())) == is_damaged
