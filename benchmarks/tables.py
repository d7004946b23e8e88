"""Shared code of the benchmarks that add a table to a documentation page."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path


def arguments(about: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option `--write`; about: description of the benchmark."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE", help="add the table to this file")
    return parser


def environment() -> str:
    """Return the date, the number of cores, the processor and the Python version."""
    day = datetime.now(timezone.utc).date()
    return f"{day}, {os.cpu_count()} cores of {processor()}, Python {sys.version.split()[0]}"


def processor() -> str:
    """Return the name and model number of the processor, as far as the system reports them.

    The name alone is not enough: some virtual processors of different models have the same name.
    """
    try:
        lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()]
    except OSError:
        return "an unknown processor"
    facts = {key.strip(): value.strip() for key, _, value in reversed(lines)}
    return f"{facts.get('model name', 'an unknown processor')} (model {facts.get('model', '?')})"


def write_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], file: Path | None) -> None:
    """Print a Markdown table with a title and append it to a file. The first column is text, the others are numbers."""
    alignment = ("---", *("--:" for _ in columns[1:]))
    lines = "".join(f"| {' | '.join(line)} |\n" for line in (columns, alignment, *rows))
    text = f"## {title}\n\n{lines}"
    print(text)
    if file:
        with file.open("a", encoding="utf-8") as page:
            page.write(f"\n{text}")
