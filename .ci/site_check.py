"""Is the documentation site whole, and does it ask no network for anything? `python .ci/site_check.py build/site`."""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from site_hooks import FOLDER, RESULTS

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "link": "href"}
LINKS = {"canonical", "alternate", "next", "prev"}  # what no browser loads by itself
ELSEWHERE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"url\(\s*[\"']?(?:https?:)?//|@import", re.IGNORECASE)


class Loads(HTMLParser):
    """Collects the addresses that a page loads by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Take note of an element that loads something."""
        values = dict(attributes)
        address = values.get(LOADING.get(tag, "")) or ""
        if ELSEWHERE.match(address) and not (tag == "link" and values.get("rel") in LINKS):
            self.found.append(address)


def faults(site: Path) -> Iterator[str]:
    """Yield what is wrong with a site, a line each."""
    for path in sorted(site.rglob("*.html")):
        yield from (f"{path}: loads {address}" for address in Loads(path.read_text("utf-8")).found)
    for path in sorted(site.rglob("*.css")):
        yield from (f"{path}: loads something from the network" for _ in IN_STYLE.finditer(path.read_text("utf-8")))
    if any(RESULTS.glob("*.jsonl")) and not (site / FOLDER / "report.html").exists():
        yield f"{site}: there are results in {RESULTS}, and no report of them"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    wrong = list(faults(folder))
    print("\n".join(wrong or [f"{folder}: {sum(1 for _ in folder.rglob('*.html'))} pages, sound and offline"]))
    sys.exit(bool(wrong))
