"""The HTML report in a real browser. CONFORMANCE_REQUIRE_BROWSER=1 makes a missing browser an error, not a skip."""

import os
import re
import shutil
import subprocess

import pytest
import results_example as example

from reports.html import render_html
from reports.reading import load

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
    "--allow-file-access-from-files", "--virtual-time-budget=4000",
)  # fmt: skip
RUNS = (example.alpha(), example.beta(example.HOSTILE), example.gamma(), example.delta())


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None and os.environ.get("CONFORMANCE_REQUIRE_BROWSER") == "1":
        pytest.fail("CONFORMANCE_REQUIRE_BROWSER=1, but no chromium is on the PATH")
    if BROWSER is None:
        pytest.skip("no chromium on the PATH")
    return BROWSER


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    page = render_html(load(example.write(folder, *RUNS)))
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def opened(browser, folder, tmp_path):
    """Open the report at a hash, run a script of the test's in it, return the page as it then stands."""

    def open_at(place="", script="", page=None):
        text = page or (folder / "report.html").read_text(encoding="utf-8")
        path = tmp_path / "page.html"
        path.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
        command = [browser, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{path}{place}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert "CONSOLE" not in done.stderr, done.stderr
        return re.sub(r"<script\b.*?</script>", "", done.stdout, flags=re.DOTALL)

    return open_at


def probe(dom):
    return re.search(r'data-probe="([^"]*)"', dom)[1]


def app(dom):
    return re.search(r'<div id="app"(.*)<div id="pages"', dom, flags=re.DOTALL)[1]


LATER = "setTimeout(() => {{ {} }}, 500);"
WRITE = "document.body.dataset.probe = {};"


def test_console_errors_are_noticed(opened):
    with pytest.raises(AssertionError, match="CONSOLE"):
        opened(script="missing.function()")


def test_page_opens_with_its_overview_and_no_error(opened):
    dom = opened()
    assert '<div id="app" hidden' in dom
    assert "9 unexpected results" in dom
    assert "<img" not in dom


def test_list_holds_every_result(opened):
    assert "39 of 39 results" in app(opened("#/results"))


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("#/results?status=fail", 5),
        ("#/results?operator=max_pool&surface=beta.book", 4),
        ("#/results?text=sigsegv%20three", 1),
        ("#/results?surface=none", 0),
    ],
)
def test_filter_in_the_url_shows_what_the_sender_saw(opened, place, found):
    dom = app(opened(place))
    assert f"{found} of 39 results" in dom
    assert dom.count('<th scope="row">') == found


def test_filter_changed_by_hand_stands_in_the_url(opened):
    change = """
      const select = document.querySelector("select[name=status]");
      select.value = "known"; select.dispatchEvent(new Event("change", {bubbles: true}));
      const input = document.querySelector("input[name=text]");
      setTimeout(() => { input.value = "Recipe"; input.dispatchEvent(new Event("input", {bubbles: true})); }, 100);
      setTimeout(() => { document.body.dataset.probe = location.hash; }, 300);
    """
    dom = opened("#/results", LATER.format(change))
    assert probe(dom) == "#/results?status=known&amp;text=Recipe"
    assert "2 of 39 results" in dom


def test_matrix_cell_leads_into_the_filtered_list_and_back(opened):
    click = "document.querySelector('.matrix td a.count.fail').click();"
    back = "setTimeout(() => history.back(), 300);"
    seen = f"setTimeout(() => {{ {WRITE.format('document.title + location.hash')} }}, 200);"
    dom = opened("", LATER.format(click + seen + back))
    assert probe(dom).startswith("Results – 9 unexpected results")
    assert probe(dom).endswith("#/results?operator=avg_pool&amp;surface=beta.keras.layers&amp;status=fail")
    assert '<div id="app" hidden' in dom


def test_detail_marks_the_worst_cell(opened):
    dom = app(opened("#/case/max_pool/stride-2-padding-1?surface=beta.keras.layers"))
    worst = re.findall(r'<td class="([^"]*worst[^"]*)"[^>]*>([^<]*)<span class="hidden"> \(worst\)', dom)
    assert worst == [("worst", "15"), ("off worst", "14"), ("delta off worst", "-1")]
    assert "expected <b>15</b>, got <b>14</b>" in dom
    assert "conformance repro max_pool/stride-2-padding-1 --surface beta.keras.layers" in dom
    assert "# beta.keras.layers" in dom


def test_detail_without_a_surface_shows_the_worst_one(opened):
    dom = app(opened("#/case/max_pool/nan-in-the-window"))
    assert re.search(r'class="sibling flaky"[^>]*aria-current="page"', dom)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("avg_pool/large?surface=beta.keras.layers", "too large to be kept in the results"),
        ("max_pool/window-larger-than-input?surface=alpha.nn", "<strong>window exceeds padded input</strong>"),
        ("max_pool/stride-2-padding-1?surface=alpha.nn", "equal bit for bit"),
        ("avg_pool/three-channels?surface=beta.book", "&lt;/script&gt;&lt;img src=x onerror="),
        ("conv/edge-detector?surface=beta.book", "No program exists for this case"),
        ("conv/wraps-in-int64?surface=beta.keras.layers", "+18446744073709551615"),
        ("avg_pool/divisor-at-the-border?surface=beta.keras.layers", "Observed: <b>whole-window</b>"),
        ("no/such", "No such case"),
        ("%E0%A4%A", "No such case"),
    ],
)
def test_detail_says_what_there_is_to_say(opened, place, said):
    assert said in app(opened(f"#/case/{place}"))


def test_link_to_a_section_of_the_page_shows_it(opened):
    seen = WRITE.format("document.elementFromPoint(200, 200).closest('section').id")
    assert probe(opened("#conventions", LATER.format(seen))) == "conventions"


def test_skip_link_stays_in_the_view(opened):
    click = "document.querySelector('.skip').click();" + WRITE.format("document.activeElement.id + location.hash")
    assert probe(opened("#/results", LATER.format(click))) == "content#/results"


def test_every_case_on_every_surface_opens_without_error(opened):
    visit = """
      const links = Report.results.map((one) => Report.caseLink(one.case.id, one.surface.name));
      const visit = () => { location.hash = links.pop(); if (links.length) setTimeout(visit, 20);
        else document.body.dataset.probe = "done"; };
      visit();
    """
    assert probe(opened("", visit)) == "done"


def test_large_array_is_cut_around_its_worst_cell(opened, tmp_path):
    data = [float(value) for value in range(4096)]
    case = example.case("conv/large", example.SQUARE, example.array(data, [1, 1, 64, 64]))
    wrong = example.array([*data[:-1], -1.0], [1, 1, 64, 64])
    worst = {"index": [0, 0, 63, 63], "expected": 4095, "got": -1, "absolute": 4096, "ulp": 1}
    records = [example.header("k", ["k.nn"]), case, example.program("k.nn")]
    records += [example.differing("conv/large", "k.nn", wrong, worst)]
    page = render_html(load(example.write(tmp_path, records)))
    dom = app(opened("#/case/conv/large", page=page))
    assert "Shown: 16 × 16 of 64 × 64 cells." in dom
    assert dom.count("(worst)") == 3


@pytest.mark.parametrize("place", ["", "#/results", "#/case/avg_pool/three-channels"])
def test_narrow_phone_needs_no_sideways_scrolling(opened, folder, place):
    frame = f'<iframe id="frame" src="file://{folder}/report.html{place}" style="width:360px;height:700px"></iframe>'
    measure = LATER.format(WRITE.format("frame.contentDocument.documentElement.scrollWidth"))
    dom = opened(page=f"<!doctype html><body>{frame}</body>", script=measure)
    assert int(probe(dom)) <= 360
