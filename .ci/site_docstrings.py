"""Extension of griffe for the documentation site: start a paragraph at each parameter that a docstring describes."""

import re
from typing import Any

import griffe

BEGINS = re.compile(r"\n\s*(?=(?:[\w*]+, )*[\w*]+: |(?:Returns|Raises|Source)\b)")


class Paragraphs(griffe.Extension):
    """Inserts an empty line before descriptions of parameters, results, errors and sources."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Insert empty lines into the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = BEGINS.sub("\n\n", obj.docstring.value)
