"""The data in the HTML report. Cases, programs and texts are stored once; results are short rows."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import TypeAlias

from msgspec.json import encode
from msgspec.structs import asdict

from reports.analysis.cause_text import CauseText
from reports.analysis.convention_rows import SurfaceAnswer, surface_answers
from reports.analysis.glossary import STATUS_MEANINGS
from reports.analysis.summary import (
    KIND_ACTIONS,
    STATUS_RANKS,
    STATUS_SIGNS,
    STATUS_TEXTS,
    UNEXPECTED_STATUSES,
)
from reports.results import (
    SPECIAL_NUMBERS,
    BackendRun,
    CaseRecord,
    ExpectedRecord,
    Json,
    Outcome,
    ProgramRecord,
    RecordedAnswers,
    RecordedArray,
    RecordedRejection,
    Report,
    ResultRecord,
    Status,
    Verdict,
    WorstElementRecord,
)
from reports.views.badges import surface_badges

CHUNK_LENGTH = 1000  # items of a list that are encoded together
COMPRESSION_LEVEL = 5  # level 6 takes nearly twice as long and saves 6 %
GZIP_WINDOW_BITS = 31  # zlib's code for a 15-bit window with a gzip header, which contains no name and no time
ProcessorAnswers: TypeAlias = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Declared answers to conventions on other processors: {surface: {convention: {processor feature: answer}}}."""
MAX_EXACT_INTEGER = 2**53  # JavaScript numbers represent integers exactly up to here; larger ones become strings


class _TextTable:
    """Table of unique texts. Rows contain positions in it."""

    def __init__(self) -> None:
        self.positions: dict[str, int] = {}

    def add(self, text: str | None) -> int | None:
        return None if text is None else self.positions.setdefault(text, len(self.positions))

    def texts(self) -> list[Json]:
        return list(self.positions)


def report_payload(
    report: Report,
    causes: Sequence[CauseText] = (),
    operators: Mapping[str, Json] = MappingProxyType({}),
    processor_answers: ProcessorAnswers = MappingProxyType({}),
) -> dict[str, Json]:
    """Return the data of a report as JSON values.

    causes: texts of the causes, for search and the pages of surfaces. operators: properties of operators, for the
    drawing of windows. processor_answers: declared answers on other processors.
    """
    texts, runs = _TextTable(), list(enumerate(report.runs))
    all_cases = dict(sorted({name: case for _, run in runs for name, case in run.cases.items()}.items()))
    cases = {case: number for number, case in enumerate(all_cases)}
    surfaces = [(number, surface) for number, run in runs for surface in run.header.surfaces]
    columns = {surface: position for position, surface in enumerate(surfaces)}
    programs = {key: program for _, run in runs for key, program in run.programs.items()}
    numbered = [(cases[one.case], columns[number, one.surface], one) for number, run in runs for one in run.results]
    rows: list[Json] = [
        [case, surface, STATUS_RANKS[result.status], _result_details(result, programs, texts)]
        for case, surface, result in sorted(numbered, key=itemgetter(0, 1))
    ]
    return {
        "statuses": [_status_payload(status) for status in Status],
        "actions": dict(KIND_ACTIONS),
        "operators": dict(operators),
        "backends": [_backend_payload(run) for run in report.runs],
        "surfaces": [{"name": surface, "backend": number} for number, surface in surfaces],
        "cases": [case_payload(case) for case in all_cases.values()],
        "results": rows,
        "conventions": [_answer_payload(answer, processor_answers) for answer in surface_answers(report)],
        "causes": [_cause_payload(one) for one in causes],
        "badges": {
            surface: {"name": one["name"], "svg": one["svg"]} for surface, one in surface_badges(report).items()
        },
        "texts": texts.texts(),
    }


def compress_json(value: dict[str, Json]) -> str:
    """Compress JSON and encode it as base64, which needs no escaping in a script element."""
    writer = zlib.compressobj(COMPRESSION_LEVEL, wbits=GZIP_WINDOW_BITS)
    pieces = [writer.compress(piece) for piece in _json_chunks(value)]
    return base64.b64encode(b"".join([*pieces, writer.flush()])).decode()


def _json_chunks(value: dict[str, Json]) -> Iterator[bytes]:
    """Yield JSON in pieces, so that the complete text is never in memory."""
    for number, (key, part) in enumerate(value.items()):
        yield b"," if number else b"{"
        yield _json_text(key) + b":"
        yield from _list_chunks(part) if isinstance(part, list) else [_json_text(part)]
    yield b"}"


def _list_chunks(items: list[Json]) -> Iterator[bytes]:
    yield b"["
    for start in range(0, len(items), CHUNK_LENGTH):
        if start:
            yield b","
        yield _json_text(items[start : start + CHUNK_LENGTH])[1:-1]  # without the brackets
    yield b"]"


def _json_text(value: Json) -> bytes:
    try:
        return encode(value)
    except UnicodeEncodeError:  # a surrogate, which JSON can only express as an escape sequence
        return json.dumps(value, separators=(",", ":")).encode()


def _status_payload(status: Status) -> Json:
    words = {"sign": STATUS_SIGNS[status], "word": STATUS_TEXTS[status], "meaning": STATUS_MEANINGS[status]}
    return {"name": status, **words, "unexpected": status in UNEXPECTED_STATUSES}


def _cause_payload(text: CauseText) -> Json:
    group = text.group
    return {
        "id": group.id,
        "title": text.title,
        "status": group.status,
        "severity": group.severity,
        "backend": group.backend,
        "operators": list(group.operators),
        "results": dict(Counter(result.surface for result in group.results)),
        "expected": text.expected,
        "got": text.got,
        "why": text.group.reason if group.example.reason else text.evidence,
        "issue": group.issue,
    }


def _backend_payload(backend: BackendRun) -> Json:
    environment = backend.header.environment
    return {
        "name": backend.name,
        "version": backend.version,
        "complete": backend.complete,
        "explored": backend.header.explored is not None,
        "packages": dict(sorted(environment.packages.items())),
        "python": environment.python,
        "platform": environment.platform,
        "threads": environment.threads,
        "setup": dict(environment.setup),
    }


def case_payload(case: CaseRecord) -> Json:
    """Return the data of a case."""
    return {
        "id": case.case,
        "operator": case.operator,
        "level": case.level,
        "about": case.about,
        "source": case.source,
        "via": list(case.via),
        "question": case.question,
        "parameters": dict(case.parameters),
        "inputs": {name: array_payload(array) for name, array in case.inputs.items()},
        "cost": None if case.cost is None else dict(case.cost),
        "expected": _expected_payload(case.expected),
        "digest": case.digest,
        "pinned": case.pinned,
        "terms": case.terms,
        "bound": _json_number(case.bound),
    }


def _expected_payload(expected: ExpectedRecord) -> Json:
    if isinstance(expected, RecordedRejection):
        return {"rejected": expected.predicate}
    if isinstance(expected, RecordedAnswers):
        return {"answers": {name: _expected_payload(answer) for name, answer in expected.answers.items()}}
    return array_payload(expected)


def array_payload(array: RecordedArray) -> Json:
    """Return the data of an array."""
    data: Json = None if array.data is None else [*array.data]
    # NaN and infinities are strings in results files. Only large integers need a conversion.
    if int in {*map(type, array.data or ())} and _has_large_integer(array.data or ()):
        data = [_json_number(value) for value in array.data or ()]
    return {"dtype": array.dtype, "shape": list(array.shape), "data": data}


def _has_large_integer(values: Iterable[Json]) -> bool:
    integers = [value for value in values if isinstance(value, int)]
    return max(integers) > MAX_EXACT_INTEGER or min(integers) < -MAX_EXACT_INTEGER


def _json_number(value: Json) -> Json:
    """Convert NaN, infinities and integers that JavaScript would round to strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return next(name for name, special in SPECIAL_NUMBERS.items() if str(special) == str(value))
    if isinstance(value, int) and abs(value) > MAX_EXACT_INTEGER:
        return str(value)
    return value


def _result_details(result: ResultRecord, programs: dict[str, ProgramRecord], texts: _TextTable) -> Json:
    program = programs[result.program] if result.program is not None else None
    details: dict[str, Json] = {
        "outcome": result.outcome if result.outcome != Outcome.RETURNED else None,
        "verdict": None if result.verdict == Verdict.AGREE else result.verdict or "none",
        "kind": result.kind,
        "how": result.how,
        "program": None if program is None else texts.add(program.source),
        "budget": "none" if result.budget_used is None else _json_number(result.budget_used) or None,
        "seconds": result.seconds,
        "got": None if result.got is None else array_payload(result.got),
        "worst": None if result.worst is None else _worst_payload(result.worst),
        "message": texts.add(result.message),
        "after_others": texts.add(result.after_others),
        "changed_by": result.changed_by,
        "reason": texts.add(result.reason),
        "issue": texts.add(result.issue),
    }
    return {key: value for key, value in details.items() if value is not None}


def _worst_payload(worst: WorstElementRecord) -> Json:
    values = {key: _json_number(value) for key, value in asdict(worst).items() if key != "index"}
    return {"index": list(worst.index), **values}


def _answer_payload(answer: SurfaceAnswer, processor_answers: ProcessorAnswers) -> Json:
    record = answer.record
    return {
        **asdict(record),
        "documented": record.documented,
        "contradicted": record.contradicted,
        "answer": answer.answer,
        "colour": answer.colour,
        "cpu": dict(processor_answers.get(record.surface, {}).get(record.question, {})),
    }
