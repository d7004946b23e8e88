"""Badges for surfaces: self-contained SVG files, and JSON for Shields' endpoint badge."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypedDict
from unicodedata import east_asian_width
from xml.etree import ElementTree

from reports.analysis import summary
from reports.analysis.summary import STATUS_TEXTS, UNEXPECTED_STATUSES, StatusCounts
from reports.results import BackendRun, Report, Status
from reports.results.vocabulary import AGREEING_STATUSES

GREY_BACKGROUND, GREEN_BACKGROUND, AMBER_BACKGROUND, RED_BACKGROUND = "#444444", "#1a7f37", "#8a5a00", "#b31d28"
"""Background colours. White text has a contrast of at least 4.5 on each, as WCAG 2.2 requires."""
EXPECTED_STATUSES = (Status.PASS, Status.KNOWN, Status.SLOW, Status.UNDECLARED, Status.REFUSED)
"""Statuses of results with a program that do not fail a run, in the order of a badge."""
GREEN_STATUSES = AGREEING_STATUSES | {Status.UNSUPPORTED}
MAX_LABEL_LENGTH = 60  # characters
BADGE_HEIGHT_PIXELS, FONT_SIZE_PIXELS, BADGE_MARGIN_PIXELS = 20, 11, 6
ADVANCE_PER_EM = 0.602  # width of a character of a monospaced font, relative to the font size
FONT_FAMILY = "DejaVu Sans Mono,Menlo,Consolas,monospace"


@dataclass(frozen=True)
class Badge:
    """Text and background colour of a badge. label: the left half; message: the right half."""

    label: str
    message: str
    colour: str


class SurfaceBadge(TypedDict):
    """The badge of a surface: its file name without suffix, and its formats."""

    name: str
    svg: str
    json: str


def render_badges(report: Report) -> dict[str, str]:
    """Return the content of `<surface>.svg` and `<surface>.json` for each surface, by file name."""
    badges = surface_badges(report).values()
    return {
        f"{one['name']}.{kind}": text for one in badges for kind, text in (("svg", one["svg"]), ("json", one["json"]))
    }


def surface_badges(report: Report) -> dict[str, SurfaceBadge]:
    """Return the badge of each surface."""
    badges: dict[str, SurfaceBadge] = {}
    taken: set[str] = set()
    counts = summary.counts_by_surface(report)
    for backend in report.backends:
        for surface in backend.header.surfaces:
            badge, name = _surface_badge(backend, surface, counts[surface]), _unused_name(_file_name(surface), taken)
            taken.add(name.lower())
            badges[surface] = {"name": name, "svg": _badge_svg(badge), "json": _endpoint_json(badge)}
    return badges


def _file_name(surface: str) -> str:
    """Return the name of a surface as a file name without path separators."""
    return re.sub(r"^\.|[^\w.@+-]", "_", surface, flags=re.ASCII)[:MAX_LABEL_LENGTH] or "_"


def _unused_name(name: str, taken: Collection[str]) -> str:
    """Return a name that no earlier surface uses. Ignores case, like some file systems. taken: names in lower case."""
    names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 2)))
    return next(one for one in names if one.lower() not in taken)


def _surface_badge(backend: BackendRun, surface: str, counts: StatusCounts) -> Badge:
    label = summary.single_line(surface, MAX_LABEL_LENGTH)
    unexpected = [f"{counts[status]:,} {STATUS_TEXTS[status]}" for status in UNEXPECTED_STATUSES if status in counts]
    good = [f"{counts[status]:,} {STATUS_TEXTS[status]}" for status in EXPECTED_STATUSES if status in counts]
    if unexpected:
        return Badge(label, ", ".join(unexpected), RED_BACKGROUND)
    if not backend.complete:
        return Badge(label, "partial run", RED_BACKGROUND)
    if not good:
        return Badge(label, "nothing ran", RED_BACKGROUND)
    return Badge(label, ", ".join(good), GREEN_BACKGROUND if counts.keys() <= GREEN_STATUSES else AMBER_BACKGROUND)


def _endpoint_json(badge: Badge) -> str:
    """Return a badge in the format of https://shields.io/badges/endpoint-badge."""
    return json.dumps(
        {
            "schemaVersion": 1,
            "label": badge.label,
            "message": badge.message,
            "labelColor": GREY_BACKGROUND,
            "color": badge.colour,
            "isError": badge.colour == RED_BACKGROUND,
        }
    )


def _badge_svg(badge: Badge) -> str:
    left, right = (_text_width(text) + 2 * BADGE_MARGIN_PIXELS for text in (badge.label, badge.message))
    title = f"{badge.label}: {badge.message}"
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": title})
    root.attrib |= {
        "width": str(left + right),
        "height": str(BADGE_HEIGHT_PIXELS),
        "font-family": FONT_FAMILY,
        "font-size": str(FONT_SIZE_PIXELS),
    }
    ElementTree.SubElement(root, "title").text = title
    for text, start, width, colour in (
        (badge.label, 0, left, GREY_BACKGROUND),
        (badge.message, left, right, badge.colour),
    ):
        ElementTree.SubElement(
            root, "rect", x=str(start), width=str(width), height=str(BADGE_HEIGHT_PIXELS), fill=colour
        )
        attributes = {
            "x": str(start + BADGE_MARGIN_PIXELS),
            "y": "14",
            "fill": "#ffffff",
            "textLength": str(width - 2 * BADGE_MARGIN_PIXELS),
        }
        ElementTree.SubElement(root, "text", attributes).text = text
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _text_width(text: str) -> int:
    """Return the width of a text in pixels. `textLength` in the SVG enforces it with any font."""
    return round(FONT_SIZE_PIXELS * ADVANCE_PER_EM * sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text))
