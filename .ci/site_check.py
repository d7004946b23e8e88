"""Check that the documentation site is complete and loads nothing from the network: `site_check.py build/site`."""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from site_hooks import FOLDER, RESULTS

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "link": "href"}
LINKS = {"canonical", "alternate", "next", "prev"}  # relations that browsers do not load
ELSEWHERE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"url\(\s*[\"']?(?:https?:)?//|@import", re.IGNORECASE)


class Loads(HTMLParser):
    """Collects the external addresses that a browser loads with a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Record the address of an element that loads a resource."""
        values = dict(attributes)
        address = values.get(LOADING.get(tag, "")) or ""
        if ELSEWHERE.match(address) and not (tag == "link" and values.get("rel") in LINKS):
            self.found.append(address)


def problems(site: Path) -> Iterator[str]:
    """Yield a line for each problem of a site."""
    for path in sorted(site.rglob("*.html")):
        yield from (f"{path}: loads {address}" for address in Loads(path.read_text("utf-8")).found)
    for path in sorted(site.rglob("*.css")):
        yield from (f"{path}: loads something from the network" for _ in IN_STYLE.finditer(path.read_text("utf-8")))
    if any(RESULTS.glob("*.jsonl")) and not (site / FOLDER / "report.html").exists():
        yield f"{site}: there are results in {RESULTS}, but no report"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    found = list(problems(folder))
    print("\n".join(found or [f"{folder}: {sum(1 for _ in folder.rglob('*.html'))} pages, complete and offline"]))
    sys.exit(bool(found))
