"""The report of a real run, followed link by link.

CONFORMANCE_RESULTS is a folder with results of real runs. Without it, the numpy backend is run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.browser_pages import expect
from tests.support.nightly import NIGHTLY, only_nightly

LINKS = """
() => [...document.querySelectorAll("#pages a[href^='#']")].map((link) => link.getAttribute("href"))
"""
# The target of a link: a number of results or conventions, a result of a case, an element; falsy if it does not exist.
TARGET = """
(link) => {
  const [path, query = ""] = link.slice(1).split("?");
  const given = Object.fromEntries(new URLSearchParams(query));
  if (path === "/results") return Report.filtered(given).length;
  if (path === "/pairs") return Report.pointsOf([]).none.length;
  const surface = path.startsWith("/surface/") && decodeURIComponent(path.slice("/surface/".length));
  if (surface) return Report.surfaces.some((one) => one.name === surface);
  if (!path.startsWith("/case/")) return document.getElementById(path) !== null;
  const found = Report.resultsOf(decodeURIComponent(path.slice("/case/".length)));
  return found.some((result) => !given.surface || result.surface.name === given.surface);
}
"""
# Open each case, and return those whose heading does not appear within 60 frames.
OPENED = """
async (step) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const shows = (id) => document.querySelector(".case h1")?.textContent.startsWith(id);
  const closed = [];
  const tried = Report.data.cases.filter((_, number) => number % step === 0);
  for (const { id } of tried) {
    location.hash = Report.caseLink(id);
    for (let frames = 0; frames < 60 && !shows(id); frames += 1) await frame();
    if (!shows(id)) closed.push(id);
  }
  return { tried: tried.length, closed };
}
"""
QUICK_NAVIGATION = """
async () => {
  const changed = new Promise((done) => addEventListener("hashchange", done, { once: true }));
  location.hash = "#matrix";
  await changed;
  location.hash = "#/results";
}
"""
LINK_SELECTORS = [
    "#matrix th a", "#matrix td a", "#differences .entry a[href^='#/case']", "#differences .facts-line a",
    "#conventions td a[href^='#']", "#compare li a", "#overview .ranking a", "#run th a",
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of a real run, one file per backend."""
    if folder := os.environ.get("CONFORMANCE_RESULTS"):
        found = sorted(Path(folder).glob("*.jsonl"))
        assert found, f"CONFORMANCE_RESULTS={folder} contains no results"
        return found
    out = tmp_path_factory.mktemp("run")
    command = [sys.executable, "-m", "conformance.cli", "run", "--backend", "numpy", "--quiet", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return [out / "results" / "numpy.jsonl"]


def changed(line, count):
    """Return a changed line: other bits for the first passing result, a failure for the second."""
    record = json.loads(line)
    if record["record"] == "footer" and count[0] > 1:
        record["by_status"]["pass"] -= 1
        record["by_status"]["fail"] = record["by_status"].get("fail", 0) + 1
    if record["record"] == "result" and record["status"] == "pass" and record["outcome"] == "returned" and count[0] < 2:
        record |= {"digest": "0" * 32} if count[0] == 0 else {"status": "fail", "verdict": "differ", "kind": "value"}
        count[0] += 1
    return json.dumps(record) + "\n"


@pytest.fixture(scope="module")
def earlier(results, tmp_path_factory):
    """The same run with one changed value and one changed status per backend."""
    folder = tmp_path_factory.mktemp("earlier")
    for path in results:
        count = [0]
        with path.open(encoding="utf-8") as lines, (folder / path.name).open("w", encoding="utf-8") as copy:
            copy.writelines(changed(line, count) for line in lines)
    return folder


@pytest.fixture(scope="module")
def file(results, earlier, tmp_path_factory):
    """The HTML report of both runs."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    command = [sys.executable, "-m", "conformance.cli", "report", *map(str, results), "--against", str(earlier)]
    done = subprocess.run([*command, "--out", str(path)], check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return path


@only_nightly
def test_every_link_has_a_target(visit, file):
    page = visit(file)
    links = sorted(set(page.evaluate(LINKS)))
    assert {link[:6] for link in links} >= {"#/resu", "#/case"}
    assert [link for link in links if not page.evaluate(TARGET, link)] == []
    assert not page.evaluate(TARGET, "#/case/no/such")
    assert not page.evaluate(TARGET, "#nowhere")


@pytest.mark.parametrize("selector", LINK_SELECTORS)
def test_links_open_a_page_with_a_heading(visit, file, selector):
    page = visit(file, f"#{selector[1:].split()[0]}")
    page.locator(selector).first.click()
    page.locator("#app h1").wait_for()
    expect(page.locator("#app h1")).not_to_contain_text("No such")
    page.go_back()
    page.locator(selector).first.wait_for()


def test_reader_filters_opens_a_case_steps_copies_and_shares_the_address(visit, file):
    page = visit(file)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Results").click()
    page.locator("select[name=operator]").select_option("max_pool")
    page.locator("#app select[name=status]").select_option("pass")
    page.locator("input[name=text]").fill("book-stride-2-padding-1")
    page.locator(".list tbody th a").first.click()
    page.locator(".geometry").wait_for()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Output cell").press("ArrowRight")
    page.get_by_role("button", name="Copy the program", exact=True).click()
    page.get_by_text("Copied", exact=True).wait_for()
    content = page.locator(".held").inner_text()
    assert "3 of 4" in content
    shared = visit(file, page.url.partition("report.html")[2])
    assert shared.locator(".held").inner_text() == content
    assert shared.locator("h1").last.inner_text() == page.locator("h1").last.inner_text()


def test_comparison_shows_the_changed_value_and_status(visit, file, results):
    page = visit(file, "#compare")
    headings = page.locator("#compare .difference h2").all_inner_texts()
    assert len([text for text in headings if "✗ fail → ✓ pass" in text]) == len(results)
    assert len([text for text in headings if "different values, same status" in text]) == len(results)
    expect(page.locator("#compare")).to_contain_text(
        f"{len(results)} changed status, {len(results)} changed value", use_inner_text=True
    )


def test_address_that_changes_during_rendering_is_followed(visit, file):
    page = visit(file, "#overview")
    page.evaluate(QUICK_NAVIGATION)
    page.get_by_role("heading", name="Results").wait_for()


@only_nightly
def test_every_case_opens(visit, file):
    missing = visit(file).evaluate(OPENED, 1 if NIGHTLY else 4)
    assert missing["tried"] > 100
    assert missing["closed"] == []


def test_page_contains_all_results_of_the_files(visit, file, results):
    lines = [json.loads(line) for path in results for line in path.read_text("utf-8").splitlines()]
    expected = sum(line["record"] == "result" for line in lines)
    assert visit(file).evaluate("Report.results.length") == expected
