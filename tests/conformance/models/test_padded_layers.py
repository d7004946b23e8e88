"""A padding and the convolution that reads it, where a target has one call for both."""

from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.models.layer import ModelLayer
from conformance.models.padded_layers import ONE_CALL_NOTE, one_call_questions, one_call_request, with_followers
from conformance.models.records import audit_record
from conformance.models.rewrites import rewrite_programs
from reports.analysis.audits import remarks_of
from reports.results.audits import LayerVerdict
from tests.conformance.models.test_audit import audited

PAD = ModelLayer("conv", "pad", {"pads": ((1, 1), (1, 1)), "mode": "wrap"}, (1, 2, 6, 7))
CONV = ModelLayer(
    "conv",
    "conv",
    {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1},
    (1, 2, 8, 9),
    kernel=(3, 2, 3, 3),
    bias=True,
)
NUMPY = registry.get_backend("numpy")
OWN = NUMPY.surfaces[0]


def one_call(padding, step, mode="wrap"):
    """Return the padding and the convolution as one call, in the given mode."""
    code = OWN.lowerings["conv"](step)
    lines = (f"x = {code}",) if isinstance(code, str) else code
    return (f"x = np.pad(x, ((0, 0), (0, 0), *{padding.padding}), {mode!r})", *lines)


def target(write=one_call):
    lowerings = {name: one for name, one in OWN.lowerings.items() if name != "pad"}
    fallbacks = {**OWN.fallbacks, "pad": OWN.lowerings["pad"]}
    chains = {("pad", "conv"): write}
    return replace(OWN, name="fake.chain", lowerings=lowerings, fallbacks=fallbacks, chain_words=chains)


def test_a_padding_belongs_to_the_convolution_of_its_name_that_reads_it():
    pad, conv = with_followers([PAD, CONV])
    assert pad.following is CONV
    assert conv.following is None
    for other in (
        replace(CONV, name="other"),
        replace(CONV, shape=(1, 2, 8, 8)),
        replace(CONV, parameters={**CONV.parameters, "padding": ((1, 0), (0, 0))}),
    ):
        assert with_followers([PAD, other])[0].following is None


def test_paddings_of_different_convolutions_are_different_layers():
    first, second = (with_followers([PAD, replace(CONV, bias=bias)])[0] for bias in (False, True))
    assert first.key != second.key


@pytest.mark.parametrize(("write", "verdict"), [(one_call, LayerVerdict.SAME), (None, LayerVerdict.REWRITE)])
def test_one_call_for_both_is_no_rewrite(write, verdict):
    surface = target(write) if write else replace(target(), chain_words={})
    found = audited(with_followers([PAD, CONV]), surface, on=replace(NUMPY, surfaces=(surface,)))
    assert [one.verdicts["fake.chain"].verdict for one in found.layers] == [verdict, LayerVerdict.SAME]
    texts = [one.text for one in remarks_of(audit_record(found))]
    assert (ONE_CALL_NOTE in texts) == bool(write)


def test_a_call_in_another_mode_differs():
    surface = target(lambda padding, step: one_call(padding, step, "edge"))
    found = audited(with_followers([PAD, CONV]), surface, on=replace(NUMPY, surfaces=(surface,)))
    assert found.layers[0].verdicts["fake.chain"].verdict is LayerVerdict.DIFFERS


def test_a_surface_with_a_call_for_the_padding_alone_is_checked_with_it():
    surface = replace(OWN, chain_words={("pad", "conv"): one_call})
    assert one_call_questions(with_followers([PAD, CONV])[0], surface) == ()


def test_the_call_is_written():
    surface = target()
    backend = replace(NUMPY, surfaces=(surface,))
    found = audited(with_followers([PAD, CONV]), surface, on=backend)
    programs = rewrite_programs(found, [(backend, surface)], None, 100)
    assert [*programs] == [(0, "fake.chain")]
    assert "np.pad(x, ((0, 0), (0, 0), *((1, 1), (1, 1))), 'wrap')" in programs[0, "fake.chain"]
    assert one_call_request(with_followers([PAD, CONV])[0]).case().then
