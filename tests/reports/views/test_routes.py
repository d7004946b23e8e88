"""The Markdown page of what exporters and runtimes change."""

import re

from reports.analysis.routes import (
    ArrivalCounts,
    ChangeGroup,
    ConventionArrival,
    OperatorArrivals,
    RouteSummary,
)
from reports.results import Level, Part, load_report
from reports.views.routes import (
    Replacement,
    answer_lines,
    convention_lines,
    detail_lines,
    operator_lines,
    render_routes,
    source_name,
)
from tests.support import example_results as example

ONNX, LITE, OTHER = "torch.onnx→onnxruntime", "tf.lite→litert", "alpha.export→one"
REASON = "The exporter leaves the divisor out."


def summary(route, **changes):
    values = {"backend": "routes", "level": Level.SMOKE, "cases": 12, "complete": True, "started": "2026-11-28T09:00"}
    return RouteSummary(**values | {"route": route, "packages": {"torch": "2.13.0+cpu-build"}} | changes)


def operators(name, **counts):
    return (OperatorArrivals(operator=name, float32=ArrivalCounts(**counts)),)


def group(**changes):
    values = {"operator": "pad", "text": REASON, "results": 2, "parts": (Part.EXPORTER,), "case": "pad/a", "size": 4}
    return ChangeGroup(**values | changes)


def rows(lines):
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    return [row for row in cells if {*row} != {"---"}]


def section(lines, heading):
    text = "\n".join(lines).split(f"### {heading}\n")[1]
    return re.split(r"\n### ", text)[0].splitlines()


def test_results_without_a_route_are_named(tmp_path):
    text = render_routes(load_report(example.write(tmp_path, example.alpha())))
    assert text.endswith("The results contain no route.\n")


def test_page_of_results_has_all_sections(tmp_path):
    run = example.run("routes", [ONNX], [example.result("max_pool/stride-2-padding-1", ONNX)])
    text = render_routes(load_report(example.write(tmp_path, run)))
    assert re.findall("^## (.*)", text, re.MULTILINE) == [
        "Answer for each source",
        "Operators",
        "Conventions",
        "Details",
    ]


def test_source_is_the_first_word_of_the_exporter():
    assert [source_name(route) for route in (ONNX, LITE, "tf2onnx→onnxruntime", "jax2tf.dynamic→litert", OTHER)] == [
        "PyTorch",
        "TensorFlow",
        "TensorFlow",
        "JAX",
        "alpha",
    ]


def test_answer_has_the_counts_and_the_run_of_each_route():
    one = summary(ONNX, operators=operators("pad", unchanged=1000, changed=2, refused=3, not_written=4))
    machine = {"platform": "Linux-6.1.0-x86_64-with-glibc2.36", "instructions": "avx2"}
    lines = [*answer_lines([summary(LITE), one, summary(ONNX, complete=False, note="earlier catalogue", **machine)])]
    assert [line for line in lines if line.startswith("#")] == ["### From PyTorch", "### From TensorFlow"]
    _, first, second = rows(section(lines, "From PyTorch"))
    route = "`torch.onnx` → `onnxruntime`"
    assert first == [route, "1,000", "2", "3", "4", "·", "12 cases of level smoke, 2026-11-28", "torch 2.13.0+cpu", "·"]
    assert second[6] == "12 cases of level smoke, 2026-11-28; **partial run**; earlier catalogue"
    assert second[8] == "Linux, x86\\_64, avx2"


def test_cell_of_an_operator_has_what_became_of_its_cases():
    counts = {
        "avg_pool": {"unchanged": 3},
        "conv": {"not_written": 2},
        "max_pool": {"unchanged": 35, "changed": 3, "refused": 2},
    }
    found = tuple(one for name, some in counts.items() for one in operators(name, **some))
    lines = operator_lines([summary(ONNX, operators=found), summary(LITE, operators=operators("conv", refused=4))])
    (head, *cells), *_ = [rows("\n".join(lines).split("<details")[0].splitlines())]
    assert head == ["operator", "`torch.onnx` → `onnxruntime`", "`tf.lite` → `litert`"]
    assert cells == [
        ["`avg_pool`", "arrives\u00a0(3)", "·"],
        ["`conv`", "–", "[refused\u00a0(4) of\u00a04](#tensorflow-conv)"],
        ["`max_pool`", "[changes\u00a0(3), refused\u00a0(2) of\u00a040](#pytorch-max_pool)", "·"],
    ]


def test_routes_with_symbolic_extents_have_a_table_of_their_own():
    dynamic = summary("torch.onnx.dynamic→onnxruntime", operators=operators("pad", unchanged=2))
    lines = [*operator_lines([summary(ONNX, operators=operators("conv", unchanged=1)), dynamic])]
    assert rows(section(lines, "Models with symbolic extents"))[1:] == [["`pad`", "arrives\u00a0(2)"]]
    assert not [line for line in operator_lines([summary(ONNX)]) if "symbolic" in line]


def test_conventions_show_the_new_answer_or_that_of_the_source():
    answers = (
        ConventionArrival(convention="pad/a", same=True, changed=("zero (runtime)",)),
        ConventionArrival(convention="pad/b", same=True),
    )
    other = (ConventionArrival(convention="pad/a", same=True),)
    lines = [*convention_lines([summary(ONNX, conventions=answers), summary(LITE, conventions=other), summary(OTHER)])]
    assert rows(lines)[1:] == [["`pad/a`", "=; zero (runtime)", "=", "·"]]
    assert lines[0] == "Conventions whose answer changes on some route: 1 of 2."
    assert "`pad/b`" in lines


def test_runs_that_recorded_changed_answers_only_have_no_number_of_all_conventions():
    changed = (ConventionArrival(convention="pad/a", changed=("zero (runtime)",)),)
    lines = [*convention_lines([summary(ONNX, conventions=changed)])]
    assert lines[0] == "Conventions whose answer changes on some route: 1."
    assert not [line for line in lines if "<details" in line]


def test_details_merge_the_routes_of_a_source_with_one_reason():
    first = summary(ONNX, changes=(group(issue="https://example.org/2"),))
    second = summary(
        "torch.onnx→openvino",
        changes=(group(issue="https://example.org/2", results=3, parts=(Part.RUNTIME,), case="pad/b", size=2),),
    )
    lines = [*detail_lines([first, second, summary(LITE, changes=(group(),))])]
    (_, row) = rows(section(lines, "PyTorch: `pad`"))
    assert row[0] == "changed"
    assert row[1].count("<code>") == 2
    assert row[2:5] == ["5", "exporter, runtime", "`pad/b`"]
    assert row[5] == f"{REASON} https://example.org/2"
    assert len(rows(section(lines, "TensorFlow: `pad`"))) == 2


def test_details_name_what_is_not_explained_and_what_is_not_recorded():
    lines = detail_lines([summary(ONNX, changes=(group(text="", results=None, case=""),))])
    (_, row) = rows(section(lines, "PyTorch: `pad`"))
    assert row[2:] == ["·", "exporter", "·", "not in the ledger"]


def test_details_of_refusals_follow_those_of_changes():
    refusal = group(text="SomeError", message="no kernel", results=9)
    lines = detail_lines([summary(ONNX, changes=(group(),), refusals=(refusal,))])
    (_, first, second) = rows(section(lines, "PyTorch: `pad`"))
    assert (first[0], second[0], second[5]) == ("changed", "refused", "SomeError: no kernel")


def test_details_name_conventions_whose_answer_changes():
    answers = (ConventionArrival(convention="pad/a", changed=("zero (runtime)",)),)
    lines = section(detail_lines([summary(ONNX, conventions=answers)]), "PyTorch: `pad`")
    assert "Changed answers to [conventions](#conventions): `pad/a`" in lines


def test_details_show_what_to_write_instead():
    listed = [
        Replacement("PyTorch", "both", ("pad",), "`F.pad(x)`", "is refused", "`F.pad(y)`"),
        Replacement("PyTorch", "both", (), "float64", "is refused", ""),
        Replacement("JAX", "both", ("pad",), "`lax.pad(x)`", "is refused", ""),
    ]
    lines = [*detail_lines([summary(ONNX, changes=(group(),))], listed)]
    assert rows(section(lines, "PyTorch: `pad`"))[-1] == ["`F.pad(x)`", "both", "is refused", "`F.pad(y)`"]
    assert rows(section(lines, "PyTorch: all operators"))[-1] == ["float64", "both", "is refused", "–"]
    assert "JAX" not in "\n".join(lines)
