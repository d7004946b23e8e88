"""What benchmarks that add a table to a page have in common: their arguments, where they ran, and the table itself."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path


def arguments(about: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows `--write`; about: what the benchmark says of itself."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE", help="add the table to this file")
    return parser


def here() -> str:
    """Return the day, the cores, the processor and Python."""
    day = datetime.now(timezone.utc).date()
    return f"{day}, {os.cpu_count()} cores of {processor()}, Python {sys.version.split()[0]}"


def processor() -> str:
    """Return what the processor calls itself, as far as the system says; of Intel's virtual ones the model besides."""
    try:
        lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()]
    except OSError:
        return "an unknown processor"
    said = {key.strip(): value.strip() for key, _, value in reversed(lines)}
    return f"{said.get('model name', 'an unknown processor')} (model {said.get('model', '?')})"


def tell(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], file: Path | None) -> None:
    """Print a table under a title, and add it to a file; its first column is of words, the others of numbers."""
    under = ("---", *("--:" for _ in columns[1:]))
    lines = "".join(f"| {' | '.join(line)} |\n" for line in (columns, under, *rows))
    text = f"## {title}\n\n{lines}"
    print(text)
    if file:
        with file.open("a", encoding="utf-8") as page:
            page.write(f"\n{text}")
