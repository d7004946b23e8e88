"""The records of a results file as typed structs, and the lines that they are written as (docs/results.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from sys import intern
from typing import Annotated, Any, Literal, TypeAlias, get_args

from msgspec import Meta, field
from msgspec.json import Decoder
from msgspec.structs import asdict, fields, force_setattr, replace

from reports.results.arrays import ExpectedRecord, RecordedAnswers, RecordedArray, RecordedRejection, parse_expected
from reports.results.exploration import ExplorationRecord
from reports.results.json_structs import JsonStruct, Measure, RecordError, decode, measure, nullable
from reports.results.vocabulary import DifferenceKind, How, Level, Outcome, Part, Status, Verdict, Word

RESULTS_FORMAT = 1
DEVICE_KEYS = ("device", "hardware", "precision")
"""Keys of the environment that are written only for a device other than the CPU."""
JSON_CONSTANTS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
"""Names of special numbers in the output of Python's `json`, and the strings in results files."""
_Positive: TypeAlias = Annotated[int, Meta(ge=1)]
_Count: TypeAlias = Annotated[int, Meta(ge=0)]
MAX_SECONDS = 1e9
"""Maximum time of a result or a run in seconds, so that sums are finite."""
_Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]


def without_label(name: str) -> str:
    """Return the name of a backend or surface without its label: "numpy@old" becomes "numpy"."""
    return name.partition("@")[0]


class Record(JsonStruct, frozen=True, tag_field="record"):
    """One line of a results file. The key `record` names its type."""


class CatalogueIdentity(JsonStruct, frozen=True, kw_only=True):
    """The catalogue of a run. version: "" for the user's own files. cases: number of selected cases."""

    version: str = field(default_factory=lambda: "")
    digest: str
    cases: _Count

    def __str__(self) -> str:
        return f"{self.version} ({self.digest[:12]})".strip()


class ShardRecord(JsonStruct, frozen=True):
    """One of the `of` shards of a run."""

    number: _Positive
    of: _Positive

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class SelectionRecord(JsonStruct, frozen=True, kw_only=True):
    """The filters of a run. An empty filter selects everything."""

    surfaces: tuple[str, ...] = field(default_factory=lambda: ())
    operators: tuple[str, ...] = field(default_factory=lambda: ())
    cases: tuple[str, ...] = field(default_factory=lambda: ())

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """The filters by name, sorted."""
        return dict(sorted(asdict(self).items()))


class Environment(JsonStruct, frozen=True, kw_only=True):
    """The environment of a run.

    setup: setup code by surface. cpu: instruction sets of the processor. instructions: limit of the instruction set, if
    one was set. hardware: model of the device; "" for the CPU.
    """

    python: str
    platform: str
    suite: Mapping[str, str]
    packages: Mapping[str, str]
    cpu: tuple[str, ...] = field(default_factory=lambda: ())
    instructions: str | None = nullable()
    device: str = field(default_factory=lambda: "cpu")
    hardware: str = field(default_factory=lambda: "")
    precision: str = field(default_factory=lambda: "float32")
    setup: Mapping[str, str]
    threads: _Count


class Header(Record, frozen=True, kw_only=True, tag="header"):
    """The first line: the backend, the catalogue and the selected cases.

    shard: None for a complete run. explored: the exploration that made the file, if any.
    """

    format: Literal[1] = field(default_factory=lambda: 1)  # RESULTS_FORMAT
    backend: str
    catalogue: CatalogueIdentity
    ledger: str | None = nullable()
    own_ledger: str | None = nullable()
    repeat: _Positive = 1
    level: Level
    slow: bool = False
    shard: ShardRecord | None = None
    selection: SelectionRecord
    surfaces: tuple[str, ...]
    environment: Environment
    started: str
    explored: ExplorationRecord | None = None

    def json_values(self) -> dict[str, Any]:
        """Return the JSON object, without the keys of a device if the run used the CPU."""
        values = super().json_values()
        for key in DEVICE_KEYS if self.environment.device == "cpu" else ():
            del values["environment"][key]
        return values

    def with_label(self, label: str) -> Header:
        """Return a copy with the label of the backend appended to all surface names."""
        setup = {surface + label: text for surface, text in self.environment.setup.items()}
        surfaces = tuple(surface + label for surface in self.surfaces)
        explored = self.explored and self.explored.with_label(label)
        environment = replace(self.environment, setup=setup)
        return replace(self, surfaces=surfaces, environment=environment, explored=explored)


class CaseRecord(Record, frozen=True, kw_only=True, tag="case"):
    """A case: parameters, inputs, cost and expected result.

    question: id of the convention that the case observes. pinned: number of printed outputs that it is checked against.
    terms: largest number of terms added for one output element. bound: largest error bound.
    features: everything about the case that may explain a failure, as phrases that follow "cases with"; () in files
    from before they were recorded.
    """

    case: str
    operator: str
    level: Level
    about: str
    source: str
    via: tuple[str, ...]
    question: str | None
    parameters: Mapping[str, Any]
    inputs: Mapping[str, RecordedArray]
    cost: Mapping[str, Any] | None = nullable()
    expected: ExpectedRecord
    digest: str
    pinned: _Count
    terms: _Count
    bound: Measure | None = nullable()
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Convert values that JSON cannot express, and share equal strings."""
        _intern_texts(self, "case", "operator", "question")
        force_setattr(self, "features", tuple(map(intern, self.features)))
        force_setattr(self, "bound", measure(self.bound))
        if not isinstance(self.expected, (RecordedArray, RecordedRejection, RecordedAnswers)):  # it was decoded
            force_setattr(self, "expected", parse_expected(self.expected))

    @property
    def size(self) -> int:
        """Number of input elements. Views show the smallest case first, as the easiest to understand."""
        return sum(array.size for array in self.inputs.values())


class ProgramRecord(Record, frozen=True, kw_only=True, tag="program"):
    """The source text executed on a surface.

    mode: statements that run after the setup of the surface and set the mode of the process; "" for most programs.
    """

    program: str
    surface: str
    how: How
    text: str
    mode: str = ""

    @property
    def source(self) -> str:
        """The text after the statements that set the mode. It runs after the setup of the surface."""
        return f"{self.mode}\n\n{self.text}" if self.mode else self.text


class WorstElementRecord(JsonStruct, frozen=True, kw_only=True):
    """The element with the largest error."""

    index: tuple[int, ...]
    expected: Any = nullable()
    got: Any = nullable()
    absolute: Any = nullable()
    ulp: Any = nullable()


class ResultRecord(Record, frozen=True, kw_only=True, tag="result"):
    """The outcome of one case on one surface, and the verdict.

    place: only in a shard, the position of the result in the undivided run, as two numbers that sort all results.
    changed_state: floating-point state of its process that the program has changed, for example "flush-to-zero".
    after_others: the outcome in a process in which other programs had run before, if it differs from `outcome`, which
    is that of a process without other programs.
    changed_by: for a route, the first part whose result is not as expected, or whose answer to a convention is not that
    of the source.
    """

    case: str
    surface: str
    status: Status
    outcome: Outcome
    verdict: Verdict | None = nullable()
    kind: DifferenceKind | None = nullable()
    how: How | None = nullable()
    program: str | None = nullable()
    budget_used: Measure | None = nullable()
    seconds: _Seconds = field(default_factory=float)
    digest: str | None = nullable()
    got: RecordedArray | None = None
    flaky: bool = False
    slow: bool = False
    worst: WorstElementRecord | None = None
    message: str | None = None
    reason: str | None = None
    issue: str | None = nullable()
    changed_state: tuple[str, ...] | None = None
    after_others: str | None = None
    changed_by: Part | None = None
    place: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Convert a special number, and share strings: millions of results repeat the same few."""
        _intern_texts(self, "case", "surface", "program", "reason", "issue")
        if isinstance(self.budget_used, str):
            force_setattr(self, "budget_used", measure(self.budget_used))

    @property
    def command(self) -> tuple[str, ...]:
        """The command that reproduces the result; if the suite has no program for it, the one that shows its case."""
        if self.program is None:
            return ("conformance", "show", self.case)
        return ("conformance", "repro", self.case, "--surface", without_label(self.surface))

    def json_values(self) -> dict[str, Any]:
        """Return the JSON object. `issue` belongs to a reason."""
        values = super().json_values()
        if self.reason is None:
            del values["issue"]
        return values


class ConventionRecord(Record, frozen=True, kw_only=True, tag="convention"):
    """The declared and the observed answer of a surface to a convention, in one case."""

    case: str
    about: str
    question: str
    surface: str
    declared: str | None = nullable()
    source: str
    observed: str | None = nullable()

    @property
    def documented(self) -> bool:
        """Whether the declared answer has a documented source."""
        return self.source != "undocumented"

    @property
    def contradicted(self) -> bool:
        """Whether the observed answer differs from the declared one."""
        return None not in (self.declared, self.observed) and self.declared != self.observed


class Footer(Record, frozen=True, tag="footer"):
    """The last line of a complete run."""

    results: _Count
    by_status: Mapping[Status, _Count]
    seconds: _Seconds


AnyRecord: TypeAlias = Header | CaseRecord | ProgramRecord | ResultRecord | ConventionRecord | Footer
_DECODER: Decoder[AnyRecord] = Decoder(AnyRecord)
ALLOWED_WORDS = {
    key.name: tuple(enum)
    for record in get_args(AnyRecord)
    for key in fields(record)
    for enum in (key.type, *get_args(key.type))
    if isinstance(enum, type) and issubclass(enum, Word)
}
"""The words that a key of a record may have, or that the keys of its mapping may be. Derived from the enums."""


def _intern_texts(record: CaseRecord | ResultRecord, *names: str) -> None:
    for name in names:
        text = getattr(record, name)
        if text is not None:
            force_setattr(record, name, intern(text))


def decode_line(line: bytes) -> AnyRecord:
    """Return the record of a line. Raises RecordError."""
    try:
        return decode(line, _DECODER)
    except RecordError as error:
        if str(error).startswith("format: "):
            raise RecordError(f"{error}, this version reads {RESULTS_FORMAT}") from None
        key, unknown, _ = str(error).partition(": unknown value ")
        if unknown and key in ALLOWED_WORDS:
            raise RecordError(f"{error}, not one of {', '.join(ALLOWED_WORDS[key])}") from None
        raise


def encode_line(record: Record) -> str:
    """Return a record as one line of JSON, without the newline."""
    return encode_values(record.json_values())


def encode_values(values: Mapping[str, Any]) -> str:
    """Return a JSON object as one line, with NaN and infinities as strings."""
    try:  # most records contain only finite numbers and need no conversion
        return json.dumps(values, ensure_ascii=False, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(values), parse_constant=JSON_CONSTANTS.__getitem__)
        return json.dumps(finite, ensure_ascii=False)
