"""The interface of adapters for frameworks in JavaScript: source text, and workers under Node.js and in Chromium."""

from conformance.adapters.api.javascript.text import (
    INDENT,
    JAVASCRIPT,
    call,
    list_of,
    number,
    pairs_of,
    per_axis,
)
from conformance.adapters.api.javascript.workers import (
    NpmPackages,
    in_page,
    missing_chromium,
    missing_node,
)

__all__ = [
    "INDENT", "JAVASCRIPT", "NpmPackages", "call", "in_page", "list_of", "missing_chromium", "missing_node", "number",
    "pairs_of", "per_axis",
]  # fmt: skip
