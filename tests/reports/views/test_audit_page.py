from conformance.models.audit import Audit, AuditedLayer, LayerVerdict, TargetVerdict
from conformance.models.html import html_lines
from conformance.models.layer import Model, ModelLayer


def page(name="stem", verdict=LayerVerdict.SAME):
    layer = ModelLayer(name, "global_max_pool", {}, (1, 2, 4, 4))
    audited = AuditedLayer((layer,), None, "", {"fake": TargetVerdict(verdict, reason="<reason>")})
    return "\n".join(html_lines(Audit(Model("<model>", "", (layer,), {"Relu": 3}), ("fake",), (audited,))))


def test_the_page_has_every_layer_and_verdict():
    text = page()
    assert '<span class="verdict same">same</span>' in text
    assert "3 Relu" in text


def test_names_and_reasons_of_a_model_are_escaped():
    text = page('"><script>alert(1)</script>', LayerVerdict.UNSUPPORTED)
    assert "<script" not in text
    assert "&lt;model&gt;" in text
    assert "&lt;reason&gt;" in text


def test_a_verdict_that_fails_is_marked():
    assert 'class="verdict failing">unsupported' in page(verdict=LayerVerdict.UNSUPPORTED)


def test_the_page_loads_nothing():
    text = page()
    assert "src=" not in text
    assert "url(" not in text
    assert "http" not in text
