import sys
from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Declaration, Surface, Unsupported
from conformance.catalogue import describe
from conformance.exploration.evaluation import LocalEvaluator
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.models.audit import audit_backend, questions_of_model
from conformance.models.layer import Model, ModelLayer
from conformance.models.questions import Numbers
from conformance.models.records import audit_record
from conformance.models.report import WRITERS, markdown_lines, terminal_lines
from conformance.models.rewrites import rewrite_reason
from conformance.models.source_framework import SourceFramework, source_framework
from conformance.models.verdicts import Audit
from reference import Windows
from reports.analysis.audits import remarks_of
from reports.results.audits import LayerVerdict
from tests.support.fake_backends import RAISES, backend, surface

PLAIN = {"window": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "rounding": "floor"}
POOL = ModelLayer("stem.pool", "max_pool", PLAIN, (1, 3, 8, 8), source="MaxPool")
UNREAD = ModelLayer("roi", source="RoiAlign", problem="the suite has no region pooling")
# Loses a NaN: the order of NaN and other numbers is that of `fmax`.
IGNORES_NAN = """\
walk = np.lib.stride_tricks.sliding_window_view(x, {window}, axis=(2, 3))
x = np.fmax.reduce(np.fmax.reduce(walk[:, :, ::2, ::2], axis=-1), axis=-1)"""


def lossy_maximum(step):
    return tuple(IGNORES_NAN.format(window=step.window).splitlines())


def audited(layers, *surfaces, ledger=None, source=None, seconds=0.0, on=None):
    """Return the audit of these layers on fake surfaces; seconds: for the search for smallest inputs.

    on: the backend of the surfaces, a fake one by default.
    """
    model = Model("model.file", "fake.source", tuple(layers), {"Relu": 2})
    questions = questions_of_model(model)
    with LocalEvaluator(on or backend(*surfaces), sys.executable, ledger or Ledger()) as evaluator:
        verdicts = audit_backend(evaluator, questions, source, seconds)
    found = (one.audited(own) for one, own in zip(questions, verdicts, strict=True))
    return Audit(model, tuple(one.name for one in surfaces), tuple(found))


def lossy(name="fake.lossy"):
    return surface(name).__class__(name, {"max_pool": lossy_maximum})


@pytest.fixture(scope="module")
def audit():
    """The audit of a pooling and of an unreadable layer on a right, a lossy, a wrong and a raising surface."""
    wrong = surface("fake.wrong", "x = x[:, :, ::2, ::2]")
    raising = surface("fake.raising", RAISES)
    none = surface("fake.none").__class__("fake.none", {})
    return audited([POOL, UNREAD], surface("fake.right"), lossy(), wrong, raising, none)


def verdict(audit, target):
    return audit.layers[0].verdicts[target]


def remarks(audit, target="fake.lossy"):
    return [one for one in remarks_of(audit_record(audit)) if one.target == target]


def test_a_right_surface_is_the_same_for_all_numbers(audit):
    found = verdict(audit, "fake.right")
    assert found.verdict is LayerVerdict.SAME
    assert set(found.results) == set(Numbers) & {
        Numbers.INTEGERS, Numbers.NEGATIVE, Numbers.NAN, Numbers.INFINITY, Numbers.MINUS_INFINITY,
        Numbers.ONLY_MINUS_INFINITY,
    }  # fmt: skip


def test_a_surface_that_loses_nan_differs_for_nan_only(audit):
    found = verdict(audit, "fake.lossy")
    assert found.verdict is LayerVerdict.DIFFERS
    assert list(found.differing) == [Numbers.NAN]
    assert any("in place of nan" in one.amount for one in remarks(audit))


def from_lowest_finite():
    def lowering(step):
        lines = IGNORES_NAN.replace("fmax", "maximum").format(window=step.window).splitlines()
        return *lines, "x = np.maximum(x, np.finfo(x.dtype).min)"

    return surface("fake.lowest").__class__("fake.lowest", {"max_pool": lowering})


def test_a_maximum_that_starts_from_the_lowest_finite_number_differs_for_windows_of_only_minus_infinity():
    found = audited([POOL], from_lowest_finite())
    assert list(verdict(found, "fake.lowest").differing) == [Numbers.ONLY_MINUS_INFINITY]
    (remark,) = remarks(found, "fake.lowest")
    assert remark.text.startswith("for windows of only minus infinity: ")


def test_every_known_reason_of_a_layer_is_a_remark():
    """NaN and windows of only minus infinity have different causes."""

    def lowering(step):
        return *lossy_maximum(step), "x = np.maximum(x, np.finfo(x.dtype).min)"

    target = surface("fake.lossy").__class__("fake.lossy", {"max_pool": lowering})
    loses, starts = (
        LedgerEntry(name, (), ("fake.lossy",), ("special",), reason, exploration_selector=selector)
        for name, reason, selector in [
            ("loses-nan", "It loses a NaN.", {"values": ("nan",)}),
            ("starts-finite", "It starts from a finite number.", {"alone": ("-inf",)}),
        ]
    )
    found = audited([POOL], target, ledger=Ledger((loses, starts)))
    assert verdict(found, "fake.lossy").verdict is LayerVerdict.EXPLAINED
    assert [one.text for one in remarks(found)] == [
        "for NaN: It loses a NaN.",
        "for windows of only minus infinity: It starts from a finite number.",
    ]


def test_a_wrong_or_rejected_layer_differs(audit):
    assert verdict(audit, "fake.wrong").verdict is LayerVerdict.DIFFERS
    assert verdict(audit, "fake.raising").verdict is LayerVerdict.DIFFERS
    assert any("not for me" in one.text for one in remarks(audit, "fake.raising"))


def test_a_surface_without_the_operator_is_unsupported(audit):
    found = verdict(audit, "fake.none")
    assert found.verdict is LayerVerdict.UNSUPPORTED
    assert found.reason


def test_a_layer_that_was_not_read_is_not_checked(audit):
    assert audit.layers[1].verdicts["fake.right"].verdict is LayerVerdict.UNCHECKED
    assert not audit.passes


def test_the_record_of_a_layer_has_its_own_groups():
    parameters = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 8}
    model = Model("m", "", (ModelLayer("depth", "conv", parameters, (1, 8, 7, 7), kernel=(8, 1, 3, 3)),))
    (questions,) = questions_of_model(model)
    assert questions.questions[0].candidate.case.parameters["groups"] == 4
    (record,) = audit_record(Audit(model, (), (questions.audited({}),))).layers
    assert (record.parameters["groups"], record.kernel, record.shape) == (8, (8, 1, 3, 3), (1, 8, 7, 7))


def test_an_audit_passes_if_every_layer_agrees():
    assert audited([POOL], surface("fake.right")).passes
    assert not audited([POOL], lossy()).passes


def test_a_difference_in_the_ledger_is_known_and_passes():
    entry = LedgerEntry(
        "loses-nan", (), ("fake.lossy",), ("special",), "It loses a NaN.", selector={"values": ("nan",)}
    )
    audit = audited([POOL], lossy(), ledger=Ledger((entry,)))
    assert verdict(audit, "fake.lossy").verdict is LayerVerdict.EXPLAINED
    assert audit.passes
    assert [one.text for one in remarks(audit)] == ["for NaN: It loses a NaN."]


SOURCE_ENTRY = LedgerEntry(
    "drops", (), ("fake.source",), ("value",), "It drops a cell.", selector={"window": (2,), "values": ("integers",)}
)


def of_source(entry=SOURCE_ENTRY):
    return source_framework(surface("fake.source"), Ledger((entry,)), {})


def test_a_known_deviation_of_the_models_framework_is_known_where_the_target_agrees():
    found = audited([POOL], surface("fake.right"), source=of_source())
    assert verdict(found, "fake.right").verdict is LayerVerdict.EXPLAINED
    assert found.passes
    (remark,) = remarks(found, "fake.right")
    assert remark.text.startswith("for integers, negative integers: ")
    assert "is known to differ from the reference, with which the target agrees: It drops a cell." in remark.text
    assert remark.difference.is_of_source


def test_a_target_of_the_same_framework_that_agrees_shows_no_deviation():
    entry = replace(SOURCE_ENTRY, surfaces=("fake.source", "fake.right"))
    found = audited([POOL], surface("fake.right"), source=of_source(entry))
    assert verdict(found, "fake.right").verdict is LayerVerdict.SAME
    assert not remarks(found, "fake.right")


def test_a_target_that_agrees_against_its_own_ledger_agrees_with_the_reference():
    own = LedgerEntry("own", (), ("fake.right",), ("value",), "It drops a row.", exploration_selector={"window": (2,)})
    found = audited([POOL], surface("fake.right"), ledger=Ledger((own,)), source=of_source())
    assert verdict(found, "fake.right").verdict is LayerVerdict.EXPLAINED
    assert "with which the target agrees" in remarks(found, "fake.right")[0].text


def test_the_surface_of_the_model_is_described_once():
    entry = replace(SOURCE_ENTRY, surfaces=("fake.source",), kinds=("special",), selector={"values": ("nan",)})
    target = replace(lossy(), name="fake.source")
    found = audited([POOL], target, ledger=Ledger((entry,)), source=of_source(entry))
    assert [one.text for one in remarks(found, "fake.source")] == ["for NaN: It drops a cell."]


def test_a_difference_of_the_target_stays_one_if_the_models_framework_differs_too():
    entry = replace(SOURCE_ENTRY, selector={"values": ("nan",)})
    found = audited([POOL], lossy(), source=of_source(entry))
    assert verdict(found, "fake.lossy").verdict is LayerVerdict.DIFFERS
    assert [one.verdict for one in remarks(found)] == [LayerVerdict.DIFFERS, LayerVerdict.EXPLAINED]
    assert "is known to differ from the reference, too: It drops a cell." in remarks(found)[1].text


def test_equal_layers_are_run_once_and_named_together():
    again = ModelLayer("head.pool", "max_pool", PLAIN, (1, 3, 8, 8))
    audit = audited([POOL, again], lossy())
    assert len(audit.layers) == 1
    assert remarks(audit)[0].names == "stem.pool, head.pool"


LONG_NAME = "features.stage1.block2.branch3.pointwise_convolution/pool"


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_whole_names_and_the_summary_last(audit, width):
    layer = ModelLayer(LONG_NAME, "max_pool", PLAIN, (1, 3, 8, 9))
    targets = ("fake.right.with_a_long_name", "fake.another-target", "fake.third")
    found = audit_record(audited([POOL, layer], *map(surface, targets)))
    for record, name in ((audit_record(audit), "stem.pool"), (found, LONG_NAME)):
        lines = list(terminal_lines(record, width))
        assert max(map(len, lines)) <= width
        assert "…" not in "".join(lines[:20])
        columns = lines[2].index("geometry")
        head = "".join(line[:columns].strip() for line in lines)
        assert name in head
        count = len(record.surfaces)
        assert [line.split(":")[0] for line in lines[-count:]] == list(record.surfaces)
        assert "same" in lines[-count]


def test_names_of_targets_are_wrapped_in_the_head_of_the_table():
    targets = ("fake.right.with_a_long_name", "fake.another-target")
    lines = list(terminal_lines(audit_record(audited([POOL], *map(surface, targets))), 80))
    head = lines[2 : next(number for number, line in enumerate(lines) if line.startswith("---"))]
    cells = ["".join(line[start : start + 14].strip() for line in head) for start in (80 - 26, 80 - 12)]
    assert cells == list(targets)


def test_layers_without_windows_are_counted_before_the_summary(audit):
    lines = list(terminal_lines(audit_record(audit)))
    assert "Not checked, because they have no windows: 2 Relu." in lines
    assert any(line.startswith("stem.pool") and line.endswith("unsupported") for line in lines)


def test_layers_that_are_not_read_are_one_line():
    problem = "quantized layers are not checked"
    layers = [ModelLayer(f"{kind}.{n}", source=kind, problem=problem) for kind in ("CONV_2D", "PAD") for n in range(9)]
    lines = list(terminal_lines(audit_record(audited(layers, surface("fake.right"), surface("fake.other")))))
    assert lines.count(f"Not read: 18 layers (CONV_2D, PAD): {problem}.") == 1


CEIL = {**PLAIN, "window": (3, 3), "rounding": "ceil"}


def floor_only(step):
    """A call without rounding up, and with padding by the word `same`."""
    if step.parameters["rounding"] != "floor":
        return Unsupported("the call rounds down")
    return "x" if step.padded and not is_same_padding(step) else CALLS["max_pool"](step)


def is_same_padding(step):
    return step.padding == Windows.of(step.shape[2:], step.window, step.stride, "same_upper").pads


CALLS = registry.get_backend("numpy").surfaces[0].lowerings


@pytest.mark.parametrize("extent", [8, 9])
def test_one_call_that_is_exact_for_the_size_is_no_rewrite(extent):
    numpy = registry.get_backend("numpy")
    target = replace(numpy.surfaces[0], name="fake.floor", lowerings={"max_pool": floor_only})
    layer = ModelLayer("pool", "max_pool", CEIL, (1, 3, extent, extent))
    found = audited([layer], target, on=replace(numpy, surfaces=(target,)))
    assert verdict(found, "fake.floor").verdict is LayerVerdict.SAME
    (remark,) = remarks(found, "fake.floor")
    assert remark.text.startswith("written as one call with the padding of this input size: exact for ")
    assert f"{extent} x {extent}" in remark.text.partition(", not for ")[0]


BIASED = ModelLayer(
    "conv",
    "conv",
    {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1},
    (1, 2, 8, 9),
    kernel=(3, 2, 3, 3),
    bias=True,
)


@pytest.mark.parametrize(
    ("stride", "verdict", "text"),
    [
        (1, LayerVerdict.SAME, "one call, and the bias is added after it: the call has no bias"),
        (2, LayerVerdict.REWRITE, "written as several calls: one call does not do it"),
    ],
)
def test_a_bias_that_is_added_after_the_call_is_no_rewrite(stride, verdict, text):
    numpy = registry.get_backend("numpy")
    own = numpy.surfaces[0]

    def without_bias(step):
        if step.bias:
            return Unsupported("the call has no bias")
        return Unsupported("the call has no stride") if step.stride != (1, 1) else own.lowerings["conv"](step)

    target = replace(
        own,
        name="fake.unbiased",
        lowerings={**own.lowerings, "conv": without_bias},
        fallbacks={**own.fallbacks, "conv": own.lowerings["conv"]},
    )
    layer = replace(BIASED, parameters={**BIASED.parameters, "stride": (stride, stride)})
    found = audited([layer], target, on=replace(numpy, surfaces=(target,)))
    assert found.layers[0].verdicts["fake.unbiased"].verdict is verdict
    assert [one.text for one in remarks(found, "fake.unbiased")] == [text]
    (questions,) = questions_of_model(found.model)
    assert rewrite_reason(questions, target) == f"the call has no {'bias' if stride == 1 else 'stride'}"


def test_markdown_does_not_interpret_the_names_of_layers():
    layer = ModelLayer("<b>|*x*", "max_pool", PLAIN, (1, 3, 8, 8))
    text = "\n".join(markdown_lines(audit_record(audited([layer], surface("fake.right")))))
    assert r"\<b\>\|\*x\*" in text
    assert "<b>" not in text


def test_remarks_name_the_gravest_first(audit):
    order = list(LayerVerdict)
    found = [order.index(one.verdict) for one in remarks(audit)]
    assert found == sorted(found)
    assert len(found) == 2


def test_every_format_has_a_writer(audit):
    assert all("stem" in "\n".join(write(audit_record(audit), 100)) for write in WRITERS.values())


def test_every_format_has_what_to_write(audit):
    record = audit_record(audit, programs={(0, "fake.wrong"): "x = keras.layers.Right()(x)"})
    assert all("x = keras.layers.Right()(x)" in "\n".join(write(record, 100)) for write in WRITERS.values())


def test_only_the_terminal_cuts_a_reason():
    reason = " ".join(f"word{number}" for number in range(400))
    problem = ModelLayer("pool", "max_pool", PLAIN, (1, 3, 8, 8), problem=reason)
    record = audit_record(audited([problem], surface("fake.right")))
    found = {name: " ".join("".join(write(record, 100)).split()) for name, write in WRITERS.items()}
    assert {name for name, text in found.items() if "word399" in text} == {"markdown", "json", "html"}
    assert "…" in found["terminal"]


def test_a_program_with_backticks_stays_a_block_of_code():
    layer = ModelLayer("pool", "max_pool", PLAIN, (1, 3, 8, 8))
    record = audit_record(audited([layer], surface("fake.right")), programs={(0, "fake.right"): "# ```"})
    assert "\n````python\n# ```\n````\n" in "\n".join(markdown_lines(record))


@pytest.mark.parametrize(
    ("p", "answers"), [(1, [("signed-sum", "absolute")]), (2, []), (3, [("signed-sum", "absolute")])]
)
def test_a_norm_without_a_call_on_the_target_has_absolute_values(p, answers):
    window = {"window": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "p": p}
    root = "x = np.lib.stride_tricks.sliding_window_view(np.abs(x), (2, 2), axis=(2, 3))[:, :, ::2, ::2]"
    power = f"x = ((x.astype(float) ** {p}).sum((-1, -2)) ** (1 / {p})).astype(np.float32)"
    target = surface("fake.right").__class__("fake.right", {"lp_pool": lambda _step: (root, power)})
    source = SourceFramework(describe.surfaces_by_name()["torch.nn"][1], Ledger())
    (layer,) = audited([ModelLayer("n", "lp_pool", window, (1, 1, 4, 4))], target, source=source).layers
    found = layer.verdicts["fake.right"].conventions.values()
    assert [(one.source_answer, one.target_answer) for one in found] == answers


TIE = "max_pool_with_indices/tie"
BY_RANK = Declaration("first", depends_on="the rank", by_case={f"{TIE}-in-three-dimensions": "other"})


@pytest.mark.parametrize(("rank", "answers"), [(2, []), (3, [("first", "other")])])
def test_an_answer_that_depends_on_the_rank_is_that_of_the_layer(rank, answers):
    window = {"window": (2,) * rank, "stride": (2,) * rank, "padding": ((0, 0),) * rank, "output": "indices"}
    target = Surface("fake.right", {"max_pool_with_indices": lambda _step: ("x = x",)}, declarations={TIE: BY_RANK})
    source = SourceFramework(Surface("fake.source", {}, declarations={TIE: Declaration("first")}), Ledger())
    layer = ModelLayer("pool", "max_pool_with_indices", window, (1, 1) + (4,) * rank)
    (layer,) = audited([layer], target, source=source).layers
    found = layer.verdicts["fake.right"].conventions.values()
    assert [(one.source_answer, one.target_answer) for one in found if one.convention == TIE][:1] == answers
