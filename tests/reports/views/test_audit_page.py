import re

import pytest

from conformance.cases.operators import drawing_properties
from reports.results import Report
from reports.results.audits import LayerVerdict
from reports.views.audit_page import audits_payload, render_audit_page
from reports.views.html import render_html
from tests.support import example_audits as example
from tests.support.browser_pages import expect, violations


def page(*layers, **changes):
    return render_audit_page(example.audit(*layers, **changes), drawing_properties())


def without_scripts(text):
    return re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)


def test_the_page_has_every_layer_verdict_and_statement():
    text = without_scripts(page())
    assert "Layers differ or are missing on one; all layers agree on two." in text
    assert "for NaN: it is lost" in text
    assert "3 in place of nan at [0, 0, 0, 0]" in text
    assert text.count('class="layer-picture"') == 2
    assert "expected 1 x 1 x 1 x 1: nan" in text
    assert "3 Relu" in text


def test_names_and_reasons_of_a_model_are_escaped():
    verdict = example.TargetVerdictRecord(verdict=LayerVerdict.UNSUPPORTED, reason="<reason>")
    layer = example.layer('"><script>alert(1)</script>', {"one": verdict, "two": verdict})
    text = page(layer, model="<model>")
    assert "<script>alert" not in text
    assert "&lt;model&gt;" in text
    assert "&lt;reason&gt;" in text


def test_an_unread_layer_has_no_drawing():
    verdict = example.TargetVerdictRecord(verdict=LayerVerdict.UNCHECKED, reason="unknown")
    layer = example.layer("roi", {"one": verdict, "two": verdict}, operator="", shape=())
    (payload,) = audits_payload([example.audit(layer)])
    assert payload["layers"] == [None]


def test_the_page_loads_nothing():
    text = without_scripts(page())
    assert "src=" not in text
    assert "url(" not in text
    assert 'href="http' not in text


def test_the_report_has_audits_only_if_they_are_given():
    assert 'id="audits"' not in render_html(Report(()))
    text = render_html(Report(()), operators=drawing_properties(), audits=[example.audit(), example.audit()])
    assert 'href="#audits"' in text
    assert text.count("Audit of net.") == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_layers_are_drawn_and_nothing_is_wider_than_the_screen(visit, axe, tmp_path, width, scheme):
    path = tmp_path / "audit.html"
    path.write_text(page(), "utf-8")
    opened = visit(path, width=width, color_scheme=scheme)
    expect(opened.locator(".layer-picture svg").first).to_be_visible()
    expect(opened.locator(".layer-picture svg .window.next").first).to_be_attached()
    opened.locator(".audit-remarks summary").first.click()
    expect(opened.locator(".smallest .geometry")).to_be_visible()
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(axe, opened) == []


def test_the_report_draws_layers_on_its_page_of_audits(visit, tmp_path):
    path = tmp_path / "report.html"
    text = render_html(Report(()), operators=drawing_properties(), audits=[example.audit()])
    path.write_text(text, "utf-8")
    opened = visit(path)
    opened.get_by_role("link", name="Audits").click()
    expect(opened.locator(".layer-picture svg").first).to_be_visible()
    opened.get_by_role("link", name="stem.pool").click()
    expect(opened.locator("#audit-0-layer-0")).to_be_in_viewport()


@pytest.mark.parametrize("is_report", [True, False])
def test_what_to_write_has_a_button_that_copies_it(visit, tmp_path, is_report):
    path, text = tmp_path / "audit.html", "# layers.Right() " * 20 + "\nx = Right()(x)"
    verdict = example.TargetVerdictRecord(verdict=LayerVerdict.REWRITE, how="padded", reason="why", program=text)
    audit = example.audit(example.layer("stem", {"one": verdict, "two": verdict}))
    pages = (
        render_html(Report(()), operators=drawing_properties(), audits=[audit]) if is_report else page(*audit.layers)
    )
    path.write_text(pages, "utf-8")
    opened = visit(path, width=390)
    if is_report:
        opened.get_by_role("link", name="Audits").click()
    opened.locator(".audit-programs summary").first.click()
    expect(opened.get_by_role("button", name="Copy what to write").first).to_be_visible()
    assert opened.locator(".audit-programs code").first.inner_text().strip() == text
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
