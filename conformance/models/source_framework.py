"""The framework of a model, and where its own results are known to differ from the reference."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from conformance.adapters.api import Surface
from conformance.cases.case import Case
from conformance.judging.ledger import RESULT_KINDS, Ledger, LedgerEntry
from conformance.translation.side_by_side import signed_power_reason

FRACTIONAL_POWERS, KINDS = "fractional-powers", tuple(map(str, RESULT_KINDS))


@dataclass(frozen=True)
class SourceFramework:
    """The framework of a model.

    surface: its answers to conventions apply to the model. ledger: the entries that apply to it.
    """

    surface: Surface
    ledger: Ledger

    def deviation(self, case: Case, cpu: Collection[str] = ()) -> LedgerEntry | None:
        """Return the entry for a case of which the framework is known to return another result, None without one.

        cpu: features of the processor.
        """
        return self.ledger.find_entry(case, self.surface.name, {}, cpu) or self._fractional_powers(case)

    def _fractional_powers(self, case: Case) -> LedgerEntry | None:
        """Return that a fractional power has another result for negative numbers. Whole powers have conventions."""
        is_fractional = float(case.parameters.get("p", 1)) % 1 != 0
        reason = signed_power_reason(case, self.surface) if is_fractional else ""
        return LedgerEntry(FRACTIONAL_POWERS, (), (self.surface.name,), KINDS, reason) if reason else None


def source_framework(surface: Surface, ledger: Ledger, versions: Mapping[str, str]) -> SourceFramework:
    """Return the framework of a model.

    versions: of the packages with which the model was read. A condition on the version of another package counts as
    satisfied, because the version with which the model will run is not known.
    """
    found = []
    for entry in ledger.for_generated_cases().entries:
        known = replace(entry, versions={name: one for name, one in entry.versions.items() if name in versions})
        applies = entry.matches_surface(surface.name) and known.matches_versions(versions)
        if applies and RESULT_KINDS.intersection(entry.kinds):
            found.append(replace(entry, versions={}))
    return SourceFramework(surface, Ledger(tuple(found)))
