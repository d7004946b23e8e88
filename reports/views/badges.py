"""A badge for each surface: an SVG that needs nothing beside it, and the same for Shields' endpoint badge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import east_asian_width
from xml.etree import ElementTree

from reports.analysis import summary
from reports.analysis.summary import BAD, WORDS
from reports.results.reader import Backend, Report

GREY, GREEN, AMBER, RED = "#444444", "#1a7f37", "#8a5a00", "#b31d28"
"""Backgrounds on which white has a contrast of at least 4.5, as WCAG 2.2 asks of text."""
LONGEST_TEXT = 60  # characters of one half
HEIGHT, SIZE, MARGIN = 20, 11, 6  # pixels
ADVANCE = 0.602  # of a monospaced font, in terms of its size
FONTS = "DejaVu Sans Mono,Menlo,Consolas,monospace"


@dataclass(frozen=True)
class Badge:
    """What a badge says: of what, what, and how that is meant, which its colour repeats."""

    label: str
    message: str
    colour: str


def render_badges(report: Report) -> dict[str, str]:
    """Return the contents of files by their names: <surface>.svg and <surface>.json for every surface."""
    files: dict[str, str] = {}
    counts = summary.by_surface(report)
    for backend in report.backends:
        for surface in backend.header.surfaces:
            badge, name = _badge(backend, surface, counts[surface]), _free(_file_name(surface), files)
            files[f"{name}.svg"] = _svg(badge)
            files[f"{name}.json"] = _endpoint(badge)
    return files


def _file_name(surface: str) -> str:
    """Return a surface's name as that of a file in this folder and no other."""
    return re.sub(r"^\.|[^\w.@+-]", "_", surface, flags=re.ASCII)[:LONGEST_TEXT] or "_"


def _free(name: str, files: Mapping[str, str]) -> str:
    """Return a name under which no surface before this one stands; not all file systems tell A from a."""
    taken = {file.lower() for file in files}
    names = (name, *(f"{name}-{number}" for number in range(2, len(files) + 2)))
    return next(one for one in names if f"{one}.svg".lower() not in taken)


def _badge(backend: Backend, surface: str, counts: Mapping[str, int]) -> Badge:
    label = summary.one_line(surface, LONGEST_TEXT)
    bad = [f"{counts[status]:,} {WORDS[status]}" for status in BAD if status in counts]
    good = [f"{counts[status]:,} {WORDS[status]}" for status in ("pass", "known") if status in counts]
    if bad:
        return Badge(label, ", ".join(bad), RED)
    if not backend.complete:
        return Badge(label, "partial run", RED)
    if not good:
        return Badge(label, "nothing ran", RED)
    return Badge(label, ", ".join(good), AMBER if "known" in counts else GREEN)


def _endpoint(badge: Badge) -> str:
    """Return what https://shields.io/badges/endpoint-badge reads."""
    return json.dumps(
        {
            "schemaVersion": 1,
            "label": badge.label,
            "message": badge.message,
            "labelColor": GREY,
            "color": badge.colour,
            "isError": badge.colour == RED,
        }
    )


def _svg(badge: Badge) -> str:
    left, right = (_width(text) + 2 * MARGIN for text in (badge.label, badge.message))
    said = f"{badge.label}: {badge.message}"
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": said})
    root.attrib |= {"width": str(left + right), "height": str(HEIGHT), "font-family": FONTS, "font-size": str(SIZE)}
    ElementTree.SubElement(root, "title").text = said
    for text, start, width, colour in ((badge.label, 0, left, GREY), (badge.message, left, right, badge.colour)):
        ElementTree.SubElement(root, "rect", x=str(start), width=str(width), height=str(HEIGHT), fill=colour)
        place = {"x": str(start + MARGIN), "y": "14", "fill": "#ffffff", "textLength": str(width - 2 * MARGIN)}
        ElementTree.SubElement(root, "text", place).text = text
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _width(text: str) -> int:
    """Return the width in pixels to which a text is set, in whichever font."""
    return round(SIZE * ADVANCE * sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text))
