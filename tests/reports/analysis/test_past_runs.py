"""The past runs of each surface, and what changed from one run to the next."""

from reports.analysis.past_runs import StatusMove, surface_histories
from reports.results import load_report
from tests.support import example_results as example
from tests.support.compared_runs import CONV, NAN, NN, POOL, WRONG, alpha, environment
from tests.support.example_results import differing, result

OTHER = "alpha.nn.functional"


def read(folder, *runs):
    """Write each run to its own folder, and return it as read."""
    paths = [example.write(folder / str(number), run)[0] for number, run in enumerate(runs)]
    return [load_report([path]).backends[0] for path in paths]


def on(day, *records, **changes):
    return alpha(*records, started=f"2026-11-{day:02}T02:00:00+00:00", **changes)


def named(backend, records):
    return [{**records[0], "backend": backend}, *records[1:]]


def histories(folder, current, *past):
    return surface_histories(load_report(example.write(folder / "current", current)), read(folder, *past))


def fails(case, surface=NN):
    return differing(case, surface, WRONG, None)


def test_runs_are_in_the_order_of_their_start_and_the_run_of_the_report_is_marked(tmp_path):
    past = on(1, result(POOL, NN), result(CONV, NN)), on(3, fails(POOL), result(CONV, NN))
    (history,) = histories(tmp_path, on(2, fails(POOL), fails(CONV)), *past)
    assert [(run.started[8:10], run.counts, run.is_current) for run in history.runs] == [
        ("01", {"pass": 2}, False),
        ("02", {"fail": 2}, True),
        ("03", {"fail": 1, "pass": 1}, False),
    ]


def test_changes_since_the_run_before_are_statuses_with_their_cases_and_versions(tmp_path):
    old = on(1, fails(POOL), fails(CONV), result(NAN, NN), environment=environment(packages={"alpha": "2.0"}))
    new = on(2, result(POOL, NN), result(CONV, NN), environment=environment(packages={"alpha": "2.1"}))
    (history,) = histories(tmp_path, new, old)
    first, last = history.runs
    assert (first.version, first.facts, first.moves) == ("2.0", (), ())
    assert last.version == "2.1"
    assert [(fact.name, fact.before, fact.after) for fact in last.facts] == [("alpha", "2.0", "2.1")]
    assert last.moves == (StatusMove("fail", "pass", (POOL, CONV)), StatusMove("pass", None, (NAN,)))
    assert history.last_change is last


def test_new_case_and_new_value_are_changes(tmp_path):
    old, new = on(1, result(POOL, NN)), on(2, result(POOL, NN, digest="00"), result(CONV, NN))
    (history,) = histories(tmp_path, new, old)
    assert history.runs[1].moves == (StatusMove(None, "pass", (CONV,)),)
    assert history.runs[1].new_values == 1


def test_run_of_the_report_is_not_counted_twice(tmp_path):
    current = on(2, result(POOL, NN))
    (history,) = histories(tmp_path, current, on(1, result(POOL, NN)), current)
    assert [run.is_current for run in history.runs] == [False, True]
    assert history.last_change is None
    assert histories(tmp_path / "alone", current, current) == []


def test_surface_has_only_the_runs_that_contain_it_and_changed_surfaces_come_first(tmp_path):
    both = [result(POOL, NN), result(POOL, OTHER)]
    past = on(1, result(POOL, NN)), on(2, *both, surfaces=(NN, OTHER))
    current = on(3, result(POOL, NN), fails(POOL, OTHER), surfaces=(NN, OTHER))
    found = histories(tmp_path, current, *past)
    assert [(one.surface, len(one.runs)) for one in found] == [(OTHER, 2), (NN, 3)]


def test_label_may_differ_if_the_report_has_one_backend_of_the_name(tmp_path):
    past = named("alpha@old", on(1, result(POOL, NN)))
    (history,) = histories(tmp_path, on(2, fails(POOL)), past)
    assert [run.counts for run in history.runs] == [{"pass": 1}, {"fail": 1}]
    assert history.runs[1].moves == (StatusMove("pass", "fail", (POOL,)),)


def test_run_belongs_to_the_backend_with_the_same_label_if_there_are_several(tmp_path):
    current = [named(name, on(3, result(POOL, NN))) for name in ("alpha@a", "alpha@b")]
    report = load_report(example.write(tmp_path / "current", *current))
    past = read(tmp_path, named("alpha@a", on(1, fails(POOL))), on(2, fails(POOL)))
    (history,) = surface_histories(report, past)
    assert (history.surface, len(history.runs)) == ("alpha.nn@a", 2)


def test_other_backends_have_no_history(tmp_path):
    assert histories(tmp_path, on(2, result(POOL, NN)), named("beta", on(1, result(POOL, NN)))) == []
