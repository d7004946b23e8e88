"""The HTML report: self-contained, escaped, complete, and usable without JavaScript."""

import base64
import gzip
import json
import re
import string
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reports.analysis.releases.answers import AnswerReleases
from reports.results import Report, load_report
from reports.views.html import LIBRARY_FILES, case_link, render_html, results_link
from reports.views.html_data import compress_json, report_payload
from reports.views.template_environment import read_script, with_line_breaks
from tests.support import example_results as example

ALL = (example.alpha(), example.beta(example.HOSTILE), example.gamma(), example.delta())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return load_report(example.write(tmp_path_factory.mktemp("results"), *ALL))


@pytest.fixture(scope="module")
def page(report):
    return render_html(report)


class Reader(HTMLParser):
    """Collects the elements, the scripts and the other text of a page."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self.scripts, self.within = [], "", [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.within = tag if tag in ("script", "style") else None

    def handle_endtag(self, _tag):
        self.within = None

    def handle_data(self, data):
        if self.within == "script":
            self.scripts.append(data)
        elif self.within is None:
            self.text += data


def test_same_results_give_the_same_bytes(page, tmp_path):
    assert render_html(load_report(example.write(tmp_path, *ALL[::-1])[::-1])) == page
    assert str(tmp_path) not in page


def test_page_makes_no_network_requests(page):
    elements = Reader(page).elements
    assert [attributes for tag, attributes in elements if "src" in attributes or "srcset" in attributes] == []
    assert [attributes["href"] for tag, attributes in elements if tag == "link"] == ["data:,"]
    assert "default-src 'none'" in page
    own_text = page
    for path in LIBRARY_FILES:
        own_text = own_text.replace(read_script(path), "")
    assert len(own_text) < len(page) / 2
    assert "@import" not in own_text
    assert "url(" not in own_text


def test_hostile_text_is_escaped(page):
    reader = Reader(page)
    assert not [tag for tag, _ in reader.elements if tag == "img"]
    assert '<img src=x onerror="document.title=1">' in reader.text
    assert "</script><img" not in page


def decompressed(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


@pytest.mark.parametrize("text", [example.HOSTILE, "<!--<script>", "]]>", "\ud800", "\u2029"])
def test_compressed_data_can_be_read_and_cannot_end_its_element(text):
    data = {text: [text, {text: 1}], "empty": [], "other": {text: None}}
    assert decompressed(compress_json(data)) == data
    assert set(compress_json(data)) <= set(string.ascii_letters + string.digits + "+/=")


def test_hostile_names_are_escaped_in_all_fields_of_a_backend(tmp_path):
    bad = '"><img src=x onerror=alert(1)>'
    records = example.run("bad", [bad], example.all_pass(bad), level="smoke")
    records[0]["environment"]["packages"] = {bad: bad}
    records[0]["environment"]["setup"] = {bad: bad}
    page = render_html(load_report(example.write(tmp_path, records)))
    assert not [tag for tag, _ in Reader(page).elements if tag == "img"]


def test_surrogates_can_be_written(tmp_path):
    records = json.loads(json.dumps(example.beta("\udc80")))
    path = tmp_path / "beta.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert "\\udc80" in render_html(load_report([path])).encode().decode()


def test_issue_becomes_a_link_only_with_a_web_address(tmp_path):
    for issue, linked in (("javascript:alert(1)", False), ("https://example.org/1", True)):
        known = example.result("conv/edge-detector", "k.nn", status="known", verdict="differ", kind="value",
                               reason="why", issue=issue)  # fmt: skip
        page = render_html(load_report(example.write(tmp_path, example.run("k", ["k.nn"], [known]))))
        assert (f'href="{issue}"' in page) is linked


def test_document_is_linked_with_its_quotation(tmp_path):
    source = 'https://example.org/pool.html (k 1.0): "padding is not counted"'
    records = [example.unsupported("avg_pool/divisor-at-the-border", "k.nn")]
    records.append(example.convention("k.nn", "real-cells", "real-cells", source))
    page = render_html(load_report(example.write(tmp_path, example.run("k", ["k.nn"], records))))
    links = [attributes for tag, attributes in Reader(page).elements if tag == "a"]
    assert ("https://example.org/pool.html", source) in [(link["href"], link.get("title")) for link in links]


def test_surface_of_an_answer_has_the_releases_with_their_answers(tmp_path):
    records = [example.unsupported("avg_pool/divisor-at-the-border", "k.nn")]
    records.append(example.convention("k.nn", "real-cells", "real-cells", ""))
    report = load_report(example.write(tmp_path, example.run("k", ["k.nn"], records)))
    for since, shown in (({"real-cells": "1.21.1"}, True), ({"window": "1.21.1"}, False), ({}, False)):
        releases = {"k.nn": {"avg_pool/divisor-at-the-border": AnswerReleases(since, "1.20.1: window")}}
        page = render_html(report, releases=releases)
        titles = [attributes.get("title") for tag, attributes in Reader(page).elements if tag == "a"]
        assert "1.20.1: window" in titles
        assert ("since 1.21.1" in page) is shown
    assert "1.20.1: window" not in render_html(report)


def test_matrix_shows_the_counts_of_the_results(page):
    labels = [attributes.get("aria-label", "") for tag, attributes in Reader(page).elements if tag == "a"]
    assert "max_pool on beta.keras.layers: 1 fail, 1 flaky, 1 known, 1 pass" in labels
    assert "all operators on alpha.nn: 9 pass" in labels


def test_problems_come_before_the_matrix(page):
    assert page.index("delta: nothing ran.") < page.index("gamma: partial run") < page.index('id="matrix"')


def test_static_pages_are_complete_without_javascript(page):
    text = Reader(page).text
    assert "need JavaScript" in text
    for expected in ("9 unexpected results", "accepts what must be rejected", "divide by?", "no asymmetric padding"):
        assert expected in text


def test_no_template_value_is_missing_in_an_empty_report():
    assert "Nothing ran" in render_html(Report(()))


def test_every_program_text_is_stored_once(report):
    text = json.dumps(decompressed(compress_json(report_payload(report))))
    assert text.count("# alpha.nn\\n") == 1


def test_integers_that_javascript_would_round_are_strings(report):
    cases = {case["id"]: case for case in report_payload(report)["cases"]}
    assert cases["conv/wraps-in-int64"]["expected"]["data"] == [str(-(2**63)), 7]


def test_all_results_are_in_the_data(report):
    data = report_payload(report)
    rows = {
        (data["cases"][case]["id"], data["surfaces"][surface]["name"], data["statuses"][status]["name"])
        for case, surface, status, _ in data["results"]
    }
    assert rows == {(result.case, result.surface, result.status) for result in report.results}


def test_links_are_quoted():
    assert case_link("a b/ü?&", "x&y=z") == "#/case/a%20b/%C3%BC%3F%26?surface=x%26y%3Dz"
    assert results_link("max_pool", "", "fail") == "#/results?operator=max_pool&status=fail"
    assert with_line_breaks("a.<b>_c") == "a.<wbr>&lt;b&gt;_<wbr>c"


def test_no_framework_is_named_in_the_views():
    sources = [
        path for path in Path(__import__("reports").__file__).parent.rglob("*.[pjc]*") if "vendor" not in path.parts
    ]
    # pytorch_half_pixel is the name of a rule in ONNX.
    named = re.compile(r"(?<!\bpy)torch|pytorch(?!_half_pixel\b)|tensorflow|keras|\bjax\b|flax|mxnet|gluon")
    assert [
        path.name for path in sources if path.suffix in (".py", ".js", ".css") and named.search(path.read_text())
    ] == []


def test_vendored_libraries_have_licences():
    vendor = Path(__import__("reports").__file__).parent / "views" / "vendor"
    assert all((library / "LICENSE").stat().st_size > 0 for library in vendor.iterdir() if library.is_dir())


def test_slow_and_undeclared_results_are_noted_in_their_own_colour(tmp_path):
    records = [*example.slow_results("alpha.nn"), *example.undeclared("avg_pool/divisor-at-the-border", "alpha.nn")]
    page = render_html(load_report(example.write(tmp_path, example.run("alpha", ["alpha.nn"], records))))
    notes = page.partition('<ul class="notes" aria-label="Notes">')[2].partition("</ul>")[0]
    assert notes.count("<li>") == 2
    assert "1 convention without a declared answer on alpha.nn: avg_pool-divisor-at-the-border" in notes
    assert "1 result exceeded the time limit once" in notes
    for status in ("slow", "undeclared"):
        assert f'<a class="chip {status}" href="#term-{status}"' in page
        assert f".{status}" in page.partition("</style>")[0]
