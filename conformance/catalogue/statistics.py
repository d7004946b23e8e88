"""Statistics of the catalogue as a Markdown page, with a comparison to other test suites."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.case import LEVELS, Answers, Case, Rejected
from conformance.cases.operators import OPERATORS
from conformance.catalogue.covering_array import CoveringArray
from conformance.catalogue.loading import Catalogue
from conformance.catalogue.sweeps import STRENGTH_BY_WORD, Sweep

EXPECTATION_KINDS = ("value", "pinned", "rejected", "question")
NO_CASES = "–"
PAGE_HEADER = """\
# The catalogue in numbers

Made by `conformance catalogue --others benchmarks/others.json > docs/catalogue.md`; do not edit it. A test holds that
this is what the command prints.
"""

UNREAD_ROWS_NOTE = (
    "Rows of exhaustive sweeps are not loaded here: they count in the first line and in the table of sweeps only."
)


def statistics_page(catalogue: Catalogue, other_suites: Mapping[str, Any] | None = None) -> str:
    """Return the page; other_suites: the data written by benchmarks/others.py."""
    cases = catalogue.cases
    unread = {sweep: sweep.rows() for sweep in catalogue.unloaded_sweeps}
    counted = _operator_level_table(cases, unread)
    levels = {level: sum(count for (_, of), count in counted.items() if of == level) for level in LEVELS}
    by_level = ", ".join(f"{count:,} at level {level}" for level, count in levels.items())
    gradients = sum(count for (operator, _), count in counted.items() if OPERATORS[operator].is_gradient)
    parts = [
        PAGE_HEADER,
        _fill_text(f"{sum(counted.values()):,} cases: {by_level}; {gradients:,} of them of gradients.") + "\n",
    ]
    parts += [f"{UNREAD_ROWS_NOTE}\n"] if unread else []
    used = {case.operator for case in cases}
    missing = [f"`{name}`" for name in OPERATORS if name not in used]
    parts += [f"{_fill_text('Operators without a case: ' + ', '.join(missing))}.\n"] if missing else []
    parts += [
        _table_section("Level and kind", cases, _level_and_kind, (*LEVELS, *EXPECTATION_KINDS), KIND_NOTE),
        _table_section("Spatial axes", cases, _rank_traits, [f"{rank}-D" for rank in _all_ranks(cases)]),
        _table_section("Dtype", cases, lambda case: [case.dtype], _all_dtypes(cases), "The dtype of `x`."),
        _sweep_section({**catalogue.sweeps, **unread}),
    ]
    return "\n".join([*parts, *([_comparison_section(cases, other_suites)] if other_suites else [])])


def _operator_level_table(cases: Iterable[Case], unread: Mapping[Sweep, Sequence[str]]) -> Counter[tuple[str, str]]:
    found = Counter((case.operator, case.level) for case in cases)
    for sweep, names in unread.items():
        found[sweep.operator, LEVELS[-1]] += len(names)
    return found


KIND_NOTE = (
    "`value`: the answer is the reference's; `pinned`: held to printed numbers too; `rejected`: a backend must refuse; "
    "`question`: several answers are legitimate."
)


def _level_and_kind(case: Case) -> list[str]:
    return [case.level, expectation_kind(case)]


def expectation_kind(case: Case) -> str:
    """Return the kind of expectation of a case, one of EXPECTATION_KINDS."""
    if isinstance(case.expect, Answers):
        return "question"
    if isinstance(case.expect, Rejected):
        return "rejected"
    return "pinned" if case.expect.readings else "value"


def _rank_traits(case: Case) -> list[str]:
    return [f"{len(case.shape) - 2}-D"]


def _all_ranks(cases: Iterable[Case]) -> list[int]:
    return sorted({1, 2, 3} | {len(case.shape) - 2 for case in cases})


def _all_dtypes(cases: Iterable[Case]) -> list[str]:
    used = {case.dtype for case in cases}
    return [name for name in NUMPY_DTYPES if name in used]


def _table_section(
    title: str, cases: Iterable[Case], traits: Callable[[Case], list[str]], columns: Sequence[str], note: str = ""
) -> str:
    """Return a table with the number of cases of each operator and trait."""
    counts = {name: Counter[str]() for name in OPERATORS}
    for case in cases:
        counts[case.operator].update(["cases", *traits(case)])
    shown = ("cases", *columns)
    rows = [[f"`{name}`", *(_number_text(found[trait]) for trait in shown)] for name, found in counts.items() if found]
    return "\n".join(
        [f"## {title}\n", *([_fill_text(note), ""] if note else []), *_table_lines(["operator", *shown], rows), ""]
    )


def _fill_text(text: str) -> str:
    return textwrap.fill(text, 120, subsequent_indent="  " * text.startswith("- "), break_on_hyphens=False)


def _number_text(count: int | None) -> str:
    return f"{count:,}" if count else NO_CASES


def _table_lines(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> Iterator[str]:
    """Yield the lines of a Markdown table; words: number of left-aligned columns of text, before columns of numbers."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "|".join("---" if column < words else "---:" for column in range(len(head))) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _sweep_section(sweeps: Mapping[Sweep, Sequence[str]]) -> str:
    rows = [_sweep_row(sweep, names) for sweep, names in sweeps.items()]
    note = (
        "How far each sweep crosses the levels of its factors, in how many rows, and how many pairs, triples or larger "
        "combinations of levels stand in them. Every one that is possible does: `conformance check` proves that."
    )
    head = ["sweep", "level", "crossed", "factors", "rows", "combinations"]
    return "\n".join(["## Sweeps\n", _fill_text(note), "", *_table_lines(head, rows, words=3), ""])


def _sweep_row(sweep: Sweep, names: Sequence[str]) -> list[str]:
    words = {strength: word for word, strength in STRENGTH_BY_WORD.items()}
    crossed = words.get(sweep.strength, "all") if sweep.strength < len(sweep.factors) else "all"
    level = sweep.common.get("level", LEVELS[0])
    # Only the combinations in the rows are counted. Counting the possible ones takes a minute.
    covered = CoveringArray(sweep.row_levels(names), sweep.strength).combination_count()
    return [
        f"`{sweep.operator}/{sweep.id}`",
        level,
        crossed,
        *map(_number_text, (len(sweep.factors), len(names), covered)),
    ]


def _comparison_section(cases: Sequence[Case], others: Mapping[str, Any]) -> str:
    """Return a table with the counts of this and other suites, with notes about differences in counting."""
    own, smoke = Counter(case.operator for case in cases), Counter(case.operator for case in _smoke_section(cases))
    parts = [part for group in others["parts"].values() for part in (group if isinstance(group, list) else [group])]
    counted = [part for part in parts if part["counts"]]
    names = [name for name in OPERATORS if any(name in part["counts"] for part in counted)]
    rows = [
        [f"`{name}`", *map(_number_text, (own[name], smoke[name], *(part["counts"].get(name) for part in counted)))]
        for name in names
    ]
    notes = [_fill_text(f"- {part['name']}: {part['what']}.") for part in parts]
    head = ["operator", "here", "here, smoke", *(part["name"] for part in counted)]
    first = (
        f"Counted {others['counted']}. What counts as one differs, as the notes say: the sizes compare, not the digits."
    )
    return "\n".join(["## Beside what others have\n", _fill_text(first), "", *_table_lines(head, rows), "", *notes, ""])


def _smoke_section(cases: Iterable[Case]) -> Iterator[Case]:
    return (case for case in cases if case.level == LEVELS[0])


def read_other_suites(path: Path) -> Mapping[str, Any]:
    """Read the data written by benchmarks/others.py. Raises ConformanceError if it cannot be read."""
    try:
        found: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if not {"counted", "parts"} <= found.keys():
            raise ValueError("it has no counts")
    except (OSError, ValueError, AttributeError) as error:
        raise ConformanceError(f"{path}: not what benchmarks/others.py writes: {error}") from None
    return found
