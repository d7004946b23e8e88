"""Titles and facts of causes."""

import pytest

from reports.analysis.cause_text import CauseWriter, advice_in, convention_name, exception_name
from reports.analysis.differences import difference_groups
from reports.results import load_report
from tests.support import example_results as example

EDGE, STRIDE, WINDOW = "conv/edge-detector", "max_pool/stride-2-padding-1", "max_pool/window-larger-than-input"
BORDER = "avg_pool/divisor-at-the-border"
NN, LAX, JIT = "k.nn", "k.lax", "k.jit"


def texts_of(folder, *results, surfaces=(NN,)):
    report = load_report(example.write(folder, example.run("k", list(surfaces), results)))
    return CauseWriter(report).texts(difference_groups(report))


def wrong(case=STRIDE, surface=NN, **changes):
    worst = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1048576}
    return example.differing(case, surface, example.array([5, 7, 13, 14], [1, 1, 2, 2]), worst, **changes)


@pytest.mark.parametrize(
    ("result", "title"),
    [
        (wrong(), "k.nn: max_pool returns 14 where 15 is right"),
        (example.differing("avg_pool/large", NN, None, None), "k.nn: avg_pool returns wrong values"),
        (example.differing(EDGE, NN, example.array([1], [1]), None, kind="shape"),
         "k.nn: conv returns shape [1] where [1, 1, 1, 7] is right"),
        (example.differing(EDGE, NN, example.array([0] * 7, [1, 1, 1, 7], "float64"), None, kind="dtype"),
         "k.nn: conv returns float64 where float32 is right"),
        (example.died(EDGE, NN, "crashed", "signal 11 (SIGSEGV); last output: hello"),
         "k.nn: conv ends the process: signal 11 (SIGSEGV)"),
        (example.died(EDGE, NN, "crashed",
                      "crashed (signal 6 (Aborted); last output: x), then, in a separate process, rejected (none)"),
         "k.nn: conv ends the process: signal 6 (Aborted)"),
        (example.died(EDGE, NN, "timed_out", "no answer"), "k.nn: conv does not finish within the time limit"),
        (example.rejected(EDGE, NN, status="fail", verdict="differ", kind="rejected"),
         "k.nn: conv raises ValueError where a result is right"),
        (example.result(WINDOW, NN, status="fail", verdict="differ", kind="accepted"),
         "k.nn: max_pool returns a result where an error is right: window exceeds padded input"),
        (example.result(EDGE, NN, status="stale"), "k.nn: conv agrees, although the ledger lists a deviation"),
        (wrong(status="flaky"), "k.nn: max_pool gives different results when it is repeated"),
        (example.result(STRIDE, NN, status="fail", verdict="differ", kind="pinned"),
         "k.nn: max_pool returns an output that differs from the printed one"),
    ],
)  # fmt: skip
def test_title_names_culprit_operator_and_effect(tmp_path, result, title):
    assert [text.title for text in texts_of(tmp_path, result)] == [title]


@pytest.mark.parametrize(("source", "word"), [("https://example.org/pool", "documented"), ("undocumented", "declared")])
def test_convention_is_named_with_both_answers(tmp_path, source, word):
    got = example.array([1.1111112, 2.6666667], [1, 2])
    result = example.differing(BORDER, NN, got, None, kind="convention", message="answered 'whole-window', but …")
    (text,) = texts_of(tmp_path, result, example.convention(NN, "real-cells", "whole-window", source))
    assert (
        text.title
        == f"k.nn: avg_pool answers whole-window where real-cells is {word}, on avg_pool divisor at the border"
    )
    assert (text.expected, text.got) == (
        "real-cells: float32 [[2.5, 4]]", "whole-window: float32 [[1.1111112, 2.6666667]]",
    )  # fmt: skip


def test_changed_answer_is_compared_with_the_earlier_one(tmp_path):
    result = example.differing(BORDER, NN, None, None, kind="changed")
    (text,) = texts_of(tmp_path, result, example.convention(NN, "real-cells", "whole-window", "undocumented"))
    assert text.effect == "answers whole-window where it answered real-cells before"


@pytest.mark.parametrize(
    ("differing", "passing", "culprit"),
    [([NN], [LAX, JIT], "k.nn"), ([NN, LAX], [JIT], "k.lax and k.nn"), ([NN, LAX, JIT], [], "k"),
     ([NN, LAX, JIT], ["k.other"], "k (3 surfaces)")],
)  # fmt: skip
def test_culprit_is_the_backend_if_all_its_surfaces_differ(tmp_path, differing, passing, culprit):
    results = [*(wrong(surface=one) for one in differing), *(example.result(STRIDE, one) for one in passing)]
    (text,) = texts_of(tmp_path, *results, surfaces=[*differing, *passing])
    assert text.culprit == culprit


def test_surface_that_agrees_is_offered_with_a_program_that_runs(tmp_path):
    (text,) = texts_of(tmp_path, wrong(), example.result(STRIDE, LAX), surfaces=[NN, LAX])
    assert text.alternative.surface == LAX
    assert text.alternative.program.startswith("import numpy as np\nimport k\n")
    assert "def run(x):" in text.alternative.program
    compile(text.alternative.program, "program", "exec")


def test_surface_that_is_known_to_differ_is_not_offered(tmp_path):
    known = wrong(surface=LAX, status="known", reason="why")
    assert all(text.alternative is None for text in texts_of(tmp_path, wrong(), known, surfaces=[NN, LAX]))


def test_facts_describe_the_smallest_case(tmp_path):
    (text,) = texts_of(tmp_path, wrong())
    assert text.expected == "float32 [[[[5, 7], [13, 15]]]]"
    assert text.got == "float32 [[[[5, 7], [13, 14]]]]; at [0, 0, 1, 1] 14 instead of 15"
    assert text.call.endswith("window [3, 3]; stride [2, 2]; padding [[1, 1], [1, 1]]")
    assert text.command == f"conformance repro {STRIDE} --surface k.nn"
    assert text.about == "Padding is never the largest value."


def test_condition_is_in_the_title_only_with_three_failing_cases(tmp_path):
    def named(name, rounding):
        case = example.case(f"max_pool/{name}", example.SQUARE, example.array([5, 7, 13, 15], [1, 1, 2, 2]))
        return case | {"parameters": {"rounding": rounding}}

    for count, condition in ((2, ""), (3, "with rounding = ceil")):
        bad, good = (
            [named(f"bad-{one}", "ceil") for one in range(count)],
            [named(f"good-{one}", "floor") for one in "ab"],
        )
        results = [*(wrong(one["case"]) for one in bad), *(example.result(one["case"], NN) for one in good)]
        records = [example.header("k", [NN]), *bad, *good, example.program(NN), *results, example.footer(results)]
        report = load_report(example.write(tmp_path / str(count), records))
        (text,) = CauseWriter(report).texts(difference_groups(report))
        assert text.condition == condition
        assert text.evidence.startswith("Seen only with" if count < 3 else "All 3 failing cases have")


def test_message_is_omitted_if_it_is_the_result(tmp_path):
    (text,) = texts_of(tmp_path, example.died(EDGE, NN, "crashed", "signal 8"))
    assert (text.got, text.message) == ("signal 8", "")
    (text,) = texts_of(tmp_path, example.died(EDGE, NN, "crashed", "signal 8; last output: x"))
    assert (text.got, text.message) == ("signal 8", "signal 8; last output: x")


@pytest.mark.parametrize(
    ("reason", "advice"),
    [("It is wrong. Write -inf instead of 0.", "Write -inf instead of 0."),
     ("Use version 2.1.3 or later. It is fixed there.", "Use version 2.1.3 or later."),
     ("The kernel divides. Users write zeros.", ""), ("", "")],
)  # fmt: skip
def test_advice_is_what_the_ledger_tells_to_write(reason, advice):
    assert advice_in(reason) == advice


@pytest.mark.parametrize(
    ("message", "name"),
    [("ValueError: no", "ValueError"), ("k.errors.InvalidArgumentError: no", "InvalidArgumentError"),
     ("something is wrong", "an error")],
)  # fmt: skip
def test_exception_is_named(message, name):
    assert exception_name(message) == name


def test_convention_is_written_without_operator_and_dtype():
    assert convention_name("avg_pool/accumulation-in-float16") == "accumulation"
    assert convention_name("max_pool/window-of-padding-only") == "window of padding only"
