import importlib
import os
import shutil
import signal
import sys

import pytest
from hypothesis import settings

from conformance import cli
from conformance.adapters import registry
from conformance.cases.operators import drawing_properties
from conformance.catalogue import loading as catalogues
from conformance.judging import ledger
from reports.analysis.comparison import compare_reports
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example, fake_backends
from tests.support.browser_pages import PATIENCE, listen
from tests.support.planted_bugs import PACKAGE_FOLDER

# The same examples in each run. Only the nightly job draws new ones.
settings.register_profile("suite", derandomize=os.environ.get("HYPOTHESIS_PROFILE") != "nightly", deadline=None)
settings.load_profile("suite")


# A shell starts background processes with SIGINT ignored, which pytest and its child processes would inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers():
    """Return the number of processes for `--numprocesses auto`: many tests wait for time limits and other processes."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def restored_environment():
    """Restore the environment variables after each test: adapters and dask set some for the processes that follow."""
    before = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    yield
    for name in os.environ.keys() - before.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="module")
def planted():
    """The package of planted bugs, importable in this process and in its workers."""
    caches = (registry.backend_names, registry.get_backend, registry._external_backends)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PACKAGE_FOLDER))
        patch.setenv("PYTHONPATH", str(PACKAGE_FOLDER), prepend=":")
        for cache in caches:
            cache.cache_clear()
        yield importlib.import_module("conformance_planted")
    for name in [name for name in sys.modules if name.startswith("conformance_planted")]:
        del sys.modules[name]
    for cache in caches:
        cache.cache_clear()


@pytest.fixture(scope="session")
def catalogue():
    """The suite's own catalogue."""
    return catalogues.load_catalogue()


@pytest.fixture
def made(tmp_path):
    """Return a function that makes one case of an operator out of YAML."""

    def make(operator, text):
        path = tmp_path / f"{operator}.yaml"
        path.write_text(f"operator: {operator}\nsource: a test\ncases:\n  - {{id: a, {text}}}\n", encoding="utf-8")
        return catalogues.load_catalogue([path]).by_id[f"{operator}/a"]

    return make


@pytest.fixture
def conformance(capsys):
    """Run the command line; return exit status, standard output and the lines of standard error."""

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            cli.main([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        assert "Traceback" not in out + error
        return left.value.code or 0, out, error.splitlines()

    return command


@pytest.fixture
def own_folder(tmp_path, monkeypatch, catalogue):
    """Run the test in its own temporary folder, and read the suite's catalogue only once."""
    monkeypatch.chdir(tmp_path)
    read = catalogues.load_catalogue
    monkeypatch.setattr(catalogues, "load_catalogue", lambda paths=(), **_: read(paths) if paths else catalogue)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A new working directory. The suite's own ledger is loaded only once, for speed."""
    monkeypatch.chdir(tmp_path)
    load, own, path = ledger.load_ledger, ledger.load_ledger(), ledger.ledger_path
    monkeypatch.setattr(
        ledger, "load_ledger", lambda further=(): own if ledger.ledger_path is path else load(further=further)
    )
    return tmp_path


# A page changes after the event that follows a click. The delay makes an assertion that does not wait fail every time.
SLOW_NAVIGATION = """
const listen = window.addEventListener.bind(window);
window.addEventListener = (type, call, options) => listen(
  type,
  type === "hashchange" ? (event) => (event.isTrusted ? setTimeout(call, 50, event) : call(event)) : call,
  options,
);
"""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium. With CONFORMANCE_REQUIRE_BROWSER=1 a missing browser is an error instead of a skip."""
    missing = pytest.fail if os.environ.get("CONFORMANCE_REQUIRE_BROWSER") == "1" else pytest.skip
    path = next(filter(None, map(shutil.which, BROWSERS)), None) or missing("no chromium on the PATH")
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError:
        missing("no playwright to drive the browser with")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def axe(browser):
    """Import axe only if there is a browser, because the two are installed together."""
    assert browser.is_connected()
    return importlib.import_module("axe_playwright_python.sync_playwright").Axe()


@pytest.fixture
def visit(browser):
    """Return a function that opens a file at a fragment. Check that nothing reaches the console or the network."""
    opened = []

    def open_at(file, place="", *, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        page = context.new_page()
        page.add_init_script(SLOW_NAVIGATION)
        page.set_default_timeout(PATIENCE)
        opened.append((context, listen(page, file.as_uri())))
        page.goto(f"{file.as_uri()}{place}")
        page.wait_for_function("() => window.Report?.ready")
        return page

    yield open_at
    for context, heard in opened:
        context.close()
        assert heard == []


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """The HTML report of four small runs and an exploration, with hostile texts in two of them."""
    folder = tmp_path_factory.mktemp("report")
    runs = (example.alpha(), example.beta(example.HOSTILE), example.gamma(), example.delta())
    texts = dict.fromkeys(("sentence", "said", "case_text", "script"), example.HOSTILE)
    found = example.exploration(findings=[example.finding(**texts)], message=example.HOSTILE)
    paths = [*example.write(folder, *runs), *example.write(folder / "explored", found)]
    path = folder / "report.html"
    path.write_text(render_html(load_report(paths, allow_mixed=True), operators=drawing_properties()), encoding="utf-8")
    return path


@pytest.fixture
def opened(visit, file):
    """Return a function that opens this report at a fragment."""

    def open_at(place="", **options):
        return visit(file, place, **options)

    return open_at


@pytest.fixture
def sides(tmp_path):
    """Return a function that writes old and new runs to two folders and returns the folders."""

    def write(old, new):
        shutil.rmtree(tmp_path / "old", ignore_errors=True)
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        for name, runs in (("old", old), ("new", new)):
            example.write(tmp_path / name, *([runs] if isinstance(runs[0], dict) else runs))
        return tmp_path / "old", tmp_path / "new"

    return write


@pytest.fixture
def compared(sides):
    def call(old, new):
        return compare_reports(*(load_report(sorted(folder.glob("*.jsonl"))) for folder in sides(old, new)))

    return call


@pytest.fixture
def diff(sides, conformance):
    """Return a function that runs `conformance diff` on old and new runs: (status, output, errors)."""

    def call(old, new, *options):
        return conformance("diff", *sides(old, new), *options)

    return call


@pytest.fixture
def fake_registry(monkeypatch):
    """Return a function that replaces the registry by one backend with these surfaces, and returns the backend."""

    def install(*surfaces):
        known = fake_backends.backend(*surfaces)
        monkeypatch.setattr(registry, "backend_names", lambda: ("fake",))
        monkeypatch.setattr(registry, "get_backend", lambda *_: known)
        return known

    return install
