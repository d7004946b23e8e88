"""Generate all pages of the documentation that are derived from the catalogue and the adapters.

The documentation build adds them to the site. `python -m docs.generate.pages DIR` writes them to a folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.adapters import registry
from conformance.cases.operators import FORWARD_OPERATORS
from conformance.catalogue import statistics
from conformance.catalogue.loading import Catalogue, load_catalogue
from conformance.cli import markdown_pages
from conformance.translation import support
from docs.generate import backends, faults, translations

OTHER_SUITES_FILE = Path(__file__).parents[2] / "benchmarks" / "others.json"
TRANSLATIONS_FOLDER = "translations"


def catalogue_page(catalogue: Catalogue) -> str:
    """Return the page that `conformance catalogue --others benchmarks/others.json` prints."""
    return markdown_pages.catalogue_page(catalogue, statistics.read_other_suites(OTHER_SUITES_FILE))


def surfaces_page(catalogue: Catalogue) -> str:
    """Return the page that `conformance surfaces --format markdown` prints for the backends of this project."""
    # Backends of other packages that happen to be installed are not part of the documentation.
    surfaces = {name: registry.get_backend(name).surfaces for name in registry.built_in_modules()}
    listed = [surface for some in surfaces.values() for surface in some]
    table = support.support_table(catalogue.select("standard"), listed)
    return markdown_pages.surfaces_page(table, surfaces)


PAGES: Mapping[str, Callable[[Catalogue], str]] = {
    "backends.md": backends.backends_page,
    "catalogue.md": catalogue_page,
    "faults.md": faults.violations_page,
    "surfaces.md": surfaces_page,
}
TRANSLATION_PAGES = tuple(f"{TRANSLATIONS_FOLDER}/{name}.md" for name in ("README", *FORWARD_OPERATORS))


def generated_pages(catalogue: Catalogue) -> dict[str, str]:
    """Return the generated pages by their path in docs/."""
    pages = {name: render(catalogue) for name, render in PAGES.items()}
    rendered = translations.render_pages(catalogue)
    return pages | {f"{TRANSLATIONS_FOLDER}/{name}": text for name, text in rendered.items()}


def write_pages(pages: Mapping[str, str], folder: Path) -> None:
    """Write pages into a folder."""
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    write_pages(generated_pages(load_catalogue()), Path(sys.argv[1]))
