"""The generated pages: which there are, what they contain, and links to them."""

import re

import pytest
import yaml
from markdown_it import MarkdownIt

from conformance.adapters import registry
from conformance.catalogue import statistics
from conformance.cli import markdown_pages
from docs.generate import pages, translations
from tests import ROOT

DOCS = ROOT / "docs"
COMMITTED = {f"{pages.TRANSLATIONS_FOLDER}/{name}.md" for name in ("README", *translations.COMMITTED_OPERATORS)}
READ_ON_THE_FORGE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.fixture
def limit_backends(monkeypatch):
    """Return a function that limits the built-in backends to some; their names are cached, also for later tests."""

    def limit(*names):
        monkeypatch.setattr(registry, "built_in_modules", lambda: {name: name for name in names})
        registry.backend_names.cache_clear()
        return names

    yield limit
    registry.backend_names.cache_clear()


@pytest.fixture
def two_backends(limit_backends):
    """Limit the generated pages to two backends: all programs of the standard level take a minute."""
    return limit_backends("numpy", "torch")


def test_generated_pages_are_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    for name in (*pages.PAGES, *pages.TRANSLATION_PAGES):
        assert re.search(rf"\b{re.escape(name)}$", navigation, re.MULTILINE), name


@pytest.mark.usefixtures("two_backends")
def test_all_pages_are_generated(catalogue, tmp_path):
    generated = pages.generated_pages(catalogue)
    assert generated.keys() == {*pages.PAGES, *pages.TRANSLATION_PAGES}
    assert all(text.startswith("# ") and text.endswith("\n") for text in generated.values())
    pages.write_pages(generated, tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md")} == generated.keys()


def test_generated_pages_are_not_committed():
    assert {name for name in (*pages.PAGES, *pages.TRANSLATION_PAGES) if (DOCS / name).exists()} == COMMITTED


@pytest.mark.parametrize("page", READ_ON_THE_FORGE, ids=lambda path: str(path.relative_to(ROOT)))
def test_committed_pages_link_to_committed_files(page):
    targets = re.findall(r"(?<!\\)\]\(([^)\s:#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    # The site has the page of the last run; the index says so.
    assert [target for target in missing if target != "last-run.md"] == []


def test_surfaces_page_is_what_the_command_prints(catalogue, conformance, limit_backends):
    limit_backends("numpy")
    status, out, _ = conformance("surfaces", "--format", "markdown", "--surface", "numpy.*")
    assert (status, out) == (0, pages.surfaces_page(catalogue))


def test_surfaces_page_has_every_surface(catalogue, two_backends):
    page = pages.surfaces_page(catalogue)
    for name in two_backends:
        assert f"\n## {name}\n" in page
        assert all(f"\n| `{surface.name}` | " in page for surface in registry.get_backend(name).surfaces)


def test_catalogue_page_compares_with_other_suites(catalogue):
    other_suites = statistics.read_other_suites(ROOT / "benchmarks" / "others.json")
    assert pages.catalogue_page(catalogue) == markdown_pages.catalogue_page(catalogue, other_suites)


def test_examples_on_generated_pages_are_valid_yaml(catalogue):
    blocks = [token for token in MarkdownIt().parse(pages.PAGES["faults.md"](catalogue)) if token.type == "fence"]
    assert [token.info for token in blocks] == ["yaml"]
    assert [*yaml.safe_load(blocks[0].content)] == ["rejects"]
