"""Docstrings on the documentation site: a line that begins with the name of a parameter begins a paragraph."""

import re
from typing import Any

import griffe

BEGINS = re.compile(r"\n\s*(?=(?:[\w*]+, )*[\w*]+: |(?:Returns|Raises|Source)\b)")


class Paragraphs(griffe.Extension):
    """Puts an empty line where a docstring begins to speak of something else."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = BEGINS.sub("\n\n", obj.docstring.value)
