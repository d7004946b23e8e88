"""The format of results files: records, readers and consistency checks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reports.results.vocabulary import DifferenceKind, How, Level, Outcome, Part, Status, Verdict

if TYPE_CHECKING:
    from reports.results.arrays import ExpectedRecord, RecordedAnswers, RecordedArray, RecordedRejection
    from reports.results.compatibility import UnreadableResults
    from reports.results.consistency import RecordChecks
    from reports.results.exploration import ExplorationRecord, FindingRecord
    from reports.results.json_structs import SPECIAL_NUMBERS, Json, JsonNumber, RecordError
    from reports.results.live import LiveResults
    from reports.results.reader import (
        BackendRun,
        Report,
        RunBuilder,
        complete_lines,
        load_report,
        merge_runs,
        read_header,
        read_records,
    )
    from reports.results.records import (
        AnyRecord,
        CaseRecord,
        CatalogueIdentity,
        ConventionRecord,
        Environment,
        Footer,
        Header,
        ProgramRecord,
        ResultRecord,
        SelectionRecord,
        ShardRecord,
        WorstElementRecord,
        decode_line,
        encode_line,
        without_label,
    )

__all__ = [
    "SPECIAL_NUMBERS", "AnyRecord", "BackendRun", "CaseRecord", "CatalogueIdentity", "ConventionRecord",
    "DifferenceKind", "Environment", "ExpectedRecord", "ExplorationRecord", "FindingRecord", "Footer", "Header", "How",
    "Json", "JsonNumber", "Level", "LiveResults", "Outcome", "Part", "ProgramRecord", "RecordChecks", "RecordError",
    "RecordedAnswers", "RecordedArray", "RecordedRejection", "Report", "ResultRecord", "RunBuilder", "SelectionRecord",
    "ShardRecord", "Status", "UnreadableResults", "Verdict", "WorstElementRecord", "complete_lines", "decode_line",
    "encode_line", "load_report", "merge_runs", "read_header", "read_records", "without_label",
]  # fmt: skip
_MODULES = ("json_structs", "arrays", "exploration", "records", "consistency", "compatibility", "reader", "live")


def __getattr__(name: str) -> Any:
    # Imported when first used: a run needs only the enums before it starts its first worker.
    for module in _MODULES if name in __all__ else ():
        imported = import_module(f"{__name__}.{module}")
        if hasattr(imported, name):
            return getattr(imported, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
