"""What runs of the suite have found of each surface, in short: which versions, how many cases agree, what deviates.

The file `verified.json` beside this one is made from results files by `conformance verified RESULTS…`, so that those
who install the suite and run nothing still learn how far a translation has been tried.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance import ConformanceError

FORMAT = 1
PATH = Path(__file__).parent / "verified.json"
AGREES, KNOWN, UNTOLD = "pass", "known", "unsupported"


@dataclass(frozen=True)
class Tried:
    """What one surface did with the cases of one operator.

    agree: how many results agree, by how the program does it; dtypes, ranks: of the cases among these; known: how many
    deviate, by the entry of the ledger; otherwise: how many came out otherwise, by status.
    """

    agree: Mapping[str, int] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    known: Mapping[str, int] = field(default_factory=dict)
    otherwise: Mapping[str, int] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        """How many results agree."""
        return sum(self.agree.values())


@dataclass(frozen=True)
class Surface:
    """One surface: the backend with the versions of its packages, the level of the run, and what came of it."""

    backend: str
    level: str
    packages: Mapping[str, str]
    operators: Mapping[str, Tried]

    @property
    def version(self) -> str:
        """The package that the backend is called after, or its first one, and its version without a local part."""
        name = self.backend if self.backend in self.packages else next(iter(self.packages), "")
        return f"{name} {self.packages.get(name, '').partition('+')[0]}".strip()


@dataclass(frozen=True)
class Summary:
    """All surfaces that have been run, by name."""

    surfaces: Mapping[str, Surface] = field(default_factory=dict)

    def tried(self, surface: str, operator: str) -> Tried:
        """Return what a surface did with an operator; nothing where it was not run."""
        known = self.surfaces.get(surface)
        return known.operators.get(operator, Tried()) if known else Tried()

    def packages(self, surface: str) -> Mapping[str, str]:
        """Return the versions with which a surface was run."""
        return self.surfaces[surface].packages if surface in self.surfaces else {}


@dataclass
class Count:
    """The results of one surface on one operator, as they are counted."""

    agree: dict[str, int] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    known: dict[str, int] = field(default_factory=dict)
    otherwise: dict[str, int] = field(default_factory=dict)

    def add(self, status: str, how: str, dtype: str, rank: int, entry: str) -> None:
        """Count one result; `entry` is the id of what the ledger says of a known deviation."""
        if status == AGREES:
            self.agree[how] = self.agree.get(how, 0) + 1
            self.dtypes.add(dtype)
            self.ranks.add(rank)
        elif status == KNOWN:
            self.known[entry] = self.known.get(entry, 0) + 1
        elif status != UNTOLD:
            self.otherwise[status] = self.otherwise.get(status, 0) + 1

    def done(self) -> Tried:
        """Return what was counted, in an order that does not depend on that of the results."""
        agree, known, otherwise = (dict(sorted(one.items())) for one in (self.agree, self.known, self.otherwise))
        return Tried(agree, tuple(sorted(self.dtypes)), tuple(sorted(self.ranks)), known, otherwise)


def text(summary: Summary) -> str:
    """Return the summary as JSON, an operator a line, so that a change of it is a change of few lines."""
    parts = []
    for name, surface in sorted(summary.surfaces.items()):
        about = {"backend": surface.backend, "level": surface.level, "packages": surface.packages}
        head = "".join(f"   {_json(key)}: {_json(value)},\n" for key, value in about.items())
        lines = [f"    {_json(key)}: {_json(vars(tried))}" for key, tried in sorted(surface.operators.items())]
        operators = ",\n".join(lines)
        parts.append(f"  {_json(name)}: {{\n{head}   {_json('operators')}: {{\n{operators}\n   }}\n  }}")
    return f'{{\n "format": {FORMAT},\n "surfaces": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def _json(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False)


def parse(text: str, place: str) -> Summary:
    """Return the summary that a text holds. Raises ConformanceError naming the place where it holds none."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ConformanceError(f"{place}: format {data['format']}, this suite reads {FORMAT}")
        return Summary({name: _surface(raw) for name, raw in data["surfaces"].items()})
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConformanceError(f"{place}: not a summary of results ({type(error).__name__}: {error})") from None


def _surface(raw: Mapping[str, Any]) -> Surface:
    return Surface(
        raw["backend"],
        raw["level"],
        dict(raw["packages"]),
        {
            name: Tried(
                dict(tried["agree"]),
                tuple(tried["dtypes"]),
                tuple(tried["ranks"]),
                dict(tried["known"]),
                dict(tried["otherwise"]),
            )
            for name, tried in raw["operators"].items()
        },
    )


@lru_cache
def shipped() -> Summary:
    """Return the summary that comes with the suite; an empty one where there is none."""
    return parse(PATH.read_text("utf-8"), str(PATH)) if PATH.exists() else Summary()


def sentence(summary: Summary, surface: str, operator: str, how: str, *, dtype: str, rank: int) -> str:
    """Return in words how far translations of an operator to a surface have been tried."""
    tried = summary.tried(surface, operator)
    if not tried.cases:
        return "not verified: no result of it agrees" if tried.known or tried.otherwise else "not verified: never run"
    parts = [f"{tried.cases:,} case{'s' * (tried.cases != 1)} of {operator} agree{'s' * (tried.cases == 1)}"]
    parts[0] += f", {tried.agree.get(how, 0):,} of them {how}"
    parts += [f"none in {dtype}"] if dtype not in tried.dtypes else []
    parts += [f"none with {rank} spatial axes"] if rank not in tried.ranks else []
    parts += [f"{count:,} {status}" for status, count in tried.otherwise.items()]
    if tried.known:
        parts.append(_deviations(list(tried.known)))
    return f"verified: {summary.surfaces[surface].version}, {'; '.join(parts)}"


def _deviations(ids: Sequence[str]) -> str:
    return f"{len(ids)} known deviation{'s' * (len(ids) != 1)}: {', '.join(ids)}"


def summary_of(surfaces: Iterable[tuple[str, str, str, Mapping[str, str], Mapping[str, Count]]]) -> Summary:
    """Return the summary of counted results: for each surface its name, backend, level, packages and counts."""
    return Summary(
        {
            name: Surface(backend, level, dict(packages), {key: count.done() for key, count in sorted(counts.items())})
            for name, backend, level, packages, counts in surfaces
        }
    )
