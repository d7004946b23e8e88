"""The records of a results file as frozen dataclasses (docs/results.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from sys import intern

from reports.results.arrays import ExpectedRecord, RecordedArray, parse_expected
from reports.results.exploration import ExplorationRecord
from reports.results.fields import Json, JsonFields, RecordError, quoted_value

RESULTS_FORMAT = 1
CATALOGUE_LEVELS = ("smoke", "standard", "exhaustive")
STATUSES = ("fail", "crashed", "timed_out", "flaky", "stale", "known", "unsupported", "pass")  # worst first
OUTCOME_KINDS = ("returned", "rejected", "unsupported", "crashed", "timed_out")
VERDICTS = ("agree", "differ")
HOWS = ("native", "padded", "composed")
DIFFERENCE_KINDS = ("shape", "dtype", "value", "special", "pinned", "accepted", "rejected", "convention", "changed")


def without_label(name: str) -> str:
    """Return the name of a backend or surface without its label: "numpy@old" becomes "numpy"."""
    return name.partition("@")[0]


@dataclass(frozen=True)
class Header:
    """The first line: the backend, the catalogue and the selected cases.

    shard: number and total, such as "2/5"; None for a complete run. explored: the exploration that made the file, if
    any.
    """

    backend: str
    catalogue: str
    catalogue_version: str
    ledger: str | None
    own_ledger: str | None
    cases: int
    level: str
    slow: bool
    repeat: int
    shard: str | None
    selection: Mapping[str, tuple[str, ...]]
    surfaces: tuple[str, ...]
    environment: Environment
    started: str
    explored: ExplorationRecord | None = None

    @classmethod
    def parse(cls, fields: JsonFields) -> Header:
        """Parse a header. The caller has checked the format version."""
        catalogue, selection = fields.fields("catalogue"), fields.fields("selection")
        return cls(
            backend=fields.get("backend", str),
            catalogue=catalogue.get("digest", str),
            catalogue_version=catalogue.optional("version", str) or "",
            ledger=fields.optional("ledger", str),
            own_ledger=fields.optional("own_ledger", str),
            cases=catalogue.get("cases", int),
            level=fields.choice("level", CATALOGUE_LEVELS),
            slow=fields.optional("slow", bool) or False,
            repeat=fields.optional("repeat", int) or 1,
            shard=_parse_shard(fields.fields("shard")) if fields.values.get("shard") is not None else None,
            selection={key: selection.texts(key) for key in sorted(selection.values)},
            surfaces=fields.texts("surfaces"),
            environment=Environment.parse(fields.fields("environment")),
            started=fields.get("started", str),
            explored=ExplorationRecord.parse(fields.fields("explored")) if "explored" in fields.values else None,
        )

    def with_label(self, label: str) -> Header:
        """Return a copy with the label of the backend appended to all surface names."""
        setup = {surface + label: text for surface, text in self.environment.setup.items()}
        surfaces = tuple(surface + label for surface in self.surfaces)
        explored = self.explored and self.explored.with_label(label)
        environment = replace(self.environment, setup=setup)
        return replace(self, surfaces=surfaces, environment=environment, explored=explored)


def _parse_shard(fields: JsonFields) -> str:
    return f"{fields.get('number', int)}/{fields.get('of', int)}"


@dataclass(frozen=True)
class CaseRecord:
    """A case: parameters, inputs, cost and expected result.

    question: id of the convention that the case observes. pinned: number of printed outputs that it is checked against.
    terms: largest number of terms added for one output element. bound: largest error bound.
    """

    case: str
    operator: str
    level: str
    about: str
    source: str
    via: tuple[str, ...]
    question: str | None
    parameters: Mapping[str, Json]
    inputs: Mapping[str, RecordedArray]
    cost: Mapping[str, Json] | None
    expected: ExpectedRecord
    digest: str
    pinned: int
    terms: int
    bound: float | None

    @classmethod
    def parse(cls, fields: JsonFields) -> CaseRecord:
        """Parse a case record."""
        inputs = fields.get("inputs", dict)
        return cls(
            case=intern(fields.get("case", str)),
            operator=intern(fields.get("operator", str)),
            level=intern(fields.choice("level", CATALOGUE_LEVELS)),
            about=fields.get("about", str),
            source=fields.get("source", str),
            via=fields.texts("via"),
            question=fields.optional("question", str),
            parameters=fields.get("parameters", dict),
            inputs={name: RecordedArray.parse(value, f"input {name!r}") for name, value in inputs.items()},
            cost=fields.optional("cost", dict),
            expected=parse_expected(fields.get("expected", dict)),
            digest=fields.get("digest", str),
            pinned=fields.get("pinned", int),
            terms=fields.get("terms", int),
            bound=fields.measure("bound"),
        )

    @property
    def size(self) -> int:
        """Number of input elements. Views show the smallest case first, as the easiest to understand."""
        return sum(array.size for array in self.inputs.values())


@dataclass(frozen=True)
class ProgramRecord:
    """The source text executed on a surface."""

    program: str
    surface: str
    how: str
    text: str

    @classmethod
    def parse(cls, fields: JsonFields) -> ProgramRecord:
        """Parse a program record."""
        texts = {key: fields.get(key, str) for key in ("program", "surface", "text")}
        return cls(**texts, how=fields.choice("how", HOWS))


@dataclass(frozen=True)
class WorstElementRecord:
    """The element with the largest error."""

    index: tuple[int, ...]
    expected: Json
    got: Json
    absolute: Json
    ulp: Json

    @classmethod
    def parse(cls, fields: JsonFields) -> WorstElementRecord:
        """Parse the worst element of a result."""
        values = {key: fields.values.get(key) for key in ("expected", "got", "absolute", "ulp")}
        index = fields.get("index", list)
        if not all(isinstance(position, int) for position in index):
            raise RecordError(f"'index' is {quoted_value(index)}, not a list of integers")
        return cls(tuple(index), **values)


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """The outcome of one case on one surface, and the verdict."""

    case: str
    surface: str
    status: str
    outcome: str
    verdict: str | None
    kind: str | None
    how: str | None
    program: str | None
    budget_used: float | None
    seconds: float
    digest: str | None
    got: RecordedArray | None
    worst: WorstElementRecord | None
    flaky: bool
    message: str | None
    reason: str | None
    issue: str | None

    @classmethod
    def parse(cls, fields: JsonFields) -> ResultRecord:
        """Parse a result record."""
        got, worst = fields.values.get("got"), fields.values.get("worst")
        return cls(
            # Interned: millions of results repeat the same few strings.
            case=intern(fields.get("case", str)),
            surface=intern(fields.get("surface", str)),
            status=intern(fields.choice("status", STATUSES)),
            outcome=intern(fields.choice("outcome", OUTCOME_KINDS)),
            verdict=_intern_text(fields.optional_choice("verdict", VERDICTS)),
            kind=_intern_text(fields.optional_choice("kind", DIFFERENCE_KINDS)),
            how=_intern_text(fields.optional_choice("how", HOWS)),
            program=_intern_text(fields.optional("program", str)),
            budget_used=fields.measure("budget_used"),
            seconds=fields.optional("seconds", float) or 0.0,
            digest=fields.optional("digest", str),
            got=None if got is None else RecordedArray.parse(got, "'got'"),
            worst=None if worst is None else WorstElementRecord.parse(fields.fields("worst")),
            flaky=fields.optional("flaky", bool) or False,
            message=fields.optional("message", str),
            reason=_intern_text(fields.optional("reason", str)),
            issue=_intern_text(fields.optional("issue", str)),
        )


def _intern_text(text: str | None) -> str | None:
    return None if text is None else intern(text)


@dataclass(frozen=True)
class ConventionRecord:
    """The declared and the observed answer of a surface to a convention, in one case."""

    question: str
    surface: str
    case: str
    declared: str | None
    observed: str | None
    source: str
    about: str

    @classmethod
    def parse(cls, fields: JsonFields) -> ConventionRecord:
        """Parse a convention record."""
        return cls(
            question=fields.get("question", str),
            surface=fields.get("surface", str),
            case=fields.get("case", str),
            declared=fields.optional("declared", str),
            observed=fields.optional("observed", str),
            source=fields.get("source", str),
            about=fields.get("about", str),
        )

    @property
    def documented(self) -> bool:
        """Whether the declared answer has a documented source."""
        return self.source != "undocumented"

    @property
    def contradicted(self) -> bool:
        """Whether the observed answer differs from the declared one."""
        return None not in (self.declared, self.observed) and self.declared != self.observed


@dataclass(frozen=True)
class Footer:
    """The last line of a complete run."""

    results: int
    by_status: Mapping[str, int]
    seconds: float

    @classmethod
    def parse(cls, fields: JsonFields) -> Footer:
        """Parse the footer."""
        return cls(fields.get("results", int), fields.get("by_status", dict), fields.get("seconds", float))


@dataclass(frozen=True)
class Environment:
    """The environment of a run.

    setup: setup code by surface. cpu: instruction sets of the processor. instructions: limit of the instruction set, if
    one was set. hardware: model of the device; "" for the CPU.
    """

    python: str
    platform: str
    suite: Mapping[str, str]
    packages: Mapping[str, str]
    cpu: tuple[str, ...]
    instructions: str | None
    setup: Mapping[str, str]
    threads: int
    device: str = "cpu"
    hardware: str = ""
    precision: str = "float32"

    @classmethod
    def parse(cls, fields: JsonFields) -> Environment:
        """Parse the header's environment."""
        return cls(
            python=fields.get("python", str),
            platform=fields.get("platform", str),
            suite=fields.table("suite"),
            packages=fields.table("packages"),
            cpu=fields.texts("cpu") if "cpu" in fields.values else (),
            instructions=fields.optional("instructions", str),
            setup=fields.table("setup"),
            threads=fields.get("threads", int),
            device=fields.optional("device", str) or "cpu",
            hardware=fields.optional("hardware", str) or "",
            precision=fields.optional("precision", str) or "float32",
        )
