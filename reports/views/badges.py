"""A badge for each surface: an SVG that needs nothing beside it, and the same for Shields' endpoint badge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import east_asian_width
from xml.etree import ElementTree

from reports.analysis import summary
from reports.analysis.summary import STATUS_TEXTS, UNEXPECTED_STATUSES
from reports.results.reader import BackendRun, Report

GREY_BACKGROUND, GREEN_BACKGROUND, AMBER_BACKGROUND, RED_BACKGROUND = "#444444", "#1a7f37", "#8a5a00", "#b31d28"
"""Backgrounds on which white has a contrast of at least 4.5, as WCAG 2.2 asks of text."""
MAX_LABEL_LENGTH = 60  # characters of one half
BADGE_HEIGHT_PIXELS, FONT_SIZE_PIXELS, BADGE_MARGIN_PIXELS = 20, 11, 6  # pixels
ADVANCE_PER_EM = 0.602  # of a monospaced font, in terms of its size
FONT_FAMILY = "DejaVu Sans Mono,Menlo,Consolas,monospace"


@dataclass(frozen=True)
class Badge:
    """What a badge says: of what, what, and how that is meant, which its colour repeats."""

    label: str
    message: str
    colour: str


def render_badges(report: Report) -> dict[str, str]:
    """Return the contents of files by their names: <surface>.svg and <surface>.json for every surface."""
    files: dict[str, str] = {}
    counts = summary.counts_by_surface(report)
    for backend in report.backends:
        for surface in backend.header.surfaces:
            badge, name = _surface_badge(backend, surface, counts[surface]), _unused_name(_file_name(surface), files)
            files[f"{name}.svg"] = _badge_svg(badge)
            files[f"{name}.json"] = _endpoint_json(badge)
    return files


def _file_name(surface: str) -> str:
    """Return a surface's name as that of a file in this folder and no other."""
    return re.sub(r"^\.|[^\w.@+-]", "_", surface, flags=re.ASCII)[:MAX_LABEL_LENGTH] or "_"


def _unused_name(name: str, files: Mapping[str, str]) -> str:
    """Return a name under which no surface before this one stands; not all file systems tell A from a."""
    taken = {file.lower() for file in files}
    names = (name, *(f"{name}-{number}" for number in range(2, len(files) + 2)))
    return next(one for one in names if f"{one}.svg".lower() not in taken)


def _surface_badge(backend: BackendRun, surface: str, counts: Mapping[str, int]) -> Badge:
    label = summary.single_line(surface, MAX_LABEL_LENGTH)
    bad = [f"{counts[status]:,} {STATUS_TEXTS[status]}" for status in UNEXPECTED_STATUSES if status in counts]
    good = [f"{counts[status]:,} {STATUS_TEXTS[status]}" for status in ("pass", "known") if status in counts]
    if bad:
        return Badge(label, ", ".join(bad), RED_BACKGROUND)
    if not backend.complete:
        return Badge(label, "partial run", RED_BACKGROUND)
    if not good:
        return Badge(label, "nothing ran", RED_BACKGROUND)
    return Badge(label, ", ".join(good), AMBER_BACKGROUND if "known" in counts else GREEN_BACKGROUND)


def _endpoint_json(badge: Badge) -> str:
    """Return what https://shields.io/badges/endpoint-badge reads."""
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
    said = f"{badge.label}: {badge.message}"
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": said})
    root.attrib |= {
        "width": str(left + right),
        "height": str(BADGE_HEIGHT_PIXELS),
        "font-family": FONT_FAMILY,
        "font-size": str(FONT_SIZE_PIXELS),
    }
    ElementTree.SubElement(root, "title").text = said
    for text, start, width, colour in (
        (badge.label, 0, left, GREY_BACKGROUND),
        (badge.message, left, right, badge.colour),
    ):
        ElementTree.SubElement(
            root, "rect", x=str(start), width=str(width), height=str(BADGE_HEIGHT_PIXELS), fill=colour
        )
        place = {
            "x": str(start + BADGE_MARGIN_PIXELS),
            "y": "14",
            "fill": "#ffffff",
            "textLength": str(width - 2 * BADGE_MARGIN_PIXELS),
        }
        ElementTree.SubElement(root, "text", place).text = text
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _text_width(text: str) -> int:
    """Return the width in pixels to which a text is set, in whichever font."""
    return round(FONT_SIZE_PIXELS * ADVANCE_PER_EM * sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text))
