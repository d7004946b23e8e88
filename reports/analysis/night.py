"""What a night has brought since the one before: new differences and findings, what is gone, values that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from reports.analysis import summary
from reports.analysis.causes import Causes
from reports.analysis.circumstances import Fact
from reports.analysis.comparison import Change, Difference, Pair, compare
from reports.analysis.history import Memory, Seen, Wrong, alike, digest
from reports.analysis.likely_cause import Blame, blame
from reports.analysis.summary import BAD, Group, plural
from reports.results.exploration import Finding
from reports.results.reader import Backend, Report
from reports.results.records import Result, plain

LONGEST_TITLE = 230  # letters, with a key behind them; GitHub takes 256
QUIET = ("value", "answer")
"""Changes of results that are judged as before: told by number, for an upgrade moves many."""


@dataclass(frozen=True)
class News:
    """What an issue is written for: a finding, or differences of one cause in cases of the catalogue.

    key: what its issue is known by; statement: it in a sentence; before: the same backend the night before.
    detail: under which conditions, where the statement does not say so; like: further findings that cannot be told
    from this one.
    """

    key: str
    backend: Backend
    before: Backend | None
    statement: str
    blame: Blame
    finding: Finding | None = None
    group: Group | None = None
    detail: str = ""
    like: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:
        """The title of its issue, with the key to find it by: a line of at most 250 letters."""
        said = f"{plain(self.backend.name)}: {self.statement.rstrip('.')}"
        return f"{summary.one_line(said, LONGEST_TITLE)} [{self.key}]"


@dataclass(frozen=True)
class Night:
    """All there is to say of a night. gone: results that differed and no longer do; lost: findings not drawn again.

    known: how many findings were told before; memory: what the next night must know; nothing stands in for a backend
    that the night before had: missing.
    """

    tonight: Report
    last: Report | None
    news: tuple[News, ...]
    changed: tuple[tuple[Change, Blame], ...]
    gone: tuple[Change, ...]
    lost: tuple[tuple[str, Finding], ...]
    known: int
    memory: Memory

    @property
    def new(self) -> bool:
        """Whether anything is new: a difference, a finding, a value or an answer that is another one."""
        return bool(self.news or self.changed)

    @property
    def problems(self) -> list[str]:
        """Say why the night is not whole, a sentence each."""
        faults = [fault for run in self.tonight.runs for fault in summary.faults(run)]
        return [*self.tonight.mixed, *faults, *_missing(self.last, self.tonight)]


def watch(tonight: Report, last: Report | None, memory: Memory) -> Night:
    """Compare a night with the one before, None where there is none; memory: what was told up to that one."""
    memory = _with_results(memory, last)
    difference = _compared(last, tonight)
    changes = difference.changes if difference else ()
    shown = [change for change in changes if change.kind in QUIET and not _flickered(change, memory)]
    findings, known, memory = _findings(tonight, last, memory)
    worse = [change for change in _worse(tonight, difference) if not _told(change, memory)]
    return Night(
        tonight,
        last,
        tuple(_apart([*findings, *_differences(tonight, last, worse)])),
        tuple((change, _blamed(change, *_sides(change.backend, tonight, last))) for change in shown),
        tuple(change for change in changes if change.kind == "status" and change.was in BAD and change.now == "pass"),
        tuple(_lost(tonight, last)),
        known,
        _with_results(memory, tonight),
    )


def _with_results(memory: Memory, report: Report | None) -> Memory:
    for run in report.backends if report else ():
        memory = memory.with_results(run)
    return memory


def _compared(last: Report | None, tonight: Report) -> Difference | None:
    names = {run.name for run in last.backends} if last else set()
    return compare(last, tonight) if last and names & {run.name for run in tonight.backends} else None


def _missing(last: Report | None, tonight: Report) -> Iterator[str]:
    for what, had, have in (
        ("results", last.backends if last else (), tonight.backends),
        ("exploration", last.explored if last else (), tonight.explored),
    ):
        for name in sorted({run.name for run in had} - {run.name for run in have}):
            yield f"{name}: the night before has its {what}, this one has not."


def _sides(name: str, tonight: Report, last: Report | None) -> tuple[Backend | None, Backend]:
    """Return the runs of a backend in both nights."""
    return _named(last.backends if last else (), name), next(run for run in tonight.backends if run.name == name)


def _named(runs: Iterable[Backend], name: str) -> Backend | None:
    return next((run for run in runs if run.name == name), None)


def _worse(tonight: Report, difference: Difference | None) -> Iterator[Change]:
    """Yield what is wrong, but was not, or in another way, or was not there; all that is wrong, if nothing is compared.

    What the night before did not come to, as it was cut, is among it: whether it is new, only what was told can say.
    Of a case that is another one, under the id of one that was wrong, nobody can say that it has changed.
    """
    for change in difference.changes if difference else ():
        turned = change.kind in {"status", "added"} or (change.kind == "redefined" and change.was not in BAD)
        if turned and change.now in BAD:
            yield change
    for pair in difference.pairs if difference else ():
        if pair.after:
            yield from _added(pair.after, _beyond(pair))
    for run in () if difference else tonight.backends:
        yield from _added(run, run.results)


def _beyond(pair: Pair) -> list[Result]:
    """Return tonight's results that the run of the night before did not come to, as it was cut."""
    return [one for key, one in pair.new.items() if key not in pair.old and pair.lacking(key)]


def _added(run: Backend, results: Iterable[Result]) -> Iterator[Change]:
    for one in results:
        if one.status in BAD:
            yield Change("added", run.name, one.surface, run.cases[one.case], None, one.status, None, one)


def _told(change: Change, memory: Memory) -> bool:
    """Whether a result was as wrong when it last ran, or only flickers again."""
    known = change.after is not None and Wrong.of(change.backend, change.after) in memory.wrong
    return known or _flickered(change, memory)


def _flickered(change: Change, memory: Memory) -> bool:
    """Whether a change is only the flicker that was told: a side is flaky, and tonight it is not steadily wrong."""
    statuses = [one.status for one in (change.before, change.after) if one]
    steady = statuses[-1] in BAD and statuses[-1] != "flaky"
    return "flaky" in statuses and not steady and (change.surface, change.case.case) in memory.flickering


def _blamed(change: Change, before: Backend | None, after: Backend) -> Blame:
    """Say why a result is otherwise."""
    flickers = any(one is not None and one.flaky for one in (change.before, change.after)) or change.now == "flaky"
    return blame(before, after, flickers=flickers, further=list(_own(change, before)))


def _own(change: Change, run: Backend | None) -> Iterator[Fact]:
    """Yield what the suite has otherwise for one result; run: that of the night before."""
    if change.before is None and run and not run.complete:
        yield Fact("the result", "none, for the run was cut", "there")
    elif change.before is None:
        yield Fact("the case on this surface", "none", "new")
    elif change.kind == "redefined":
        yield Fact("the case", "another one", "of the same id")
    elif change.after is not None and change.before.program != change.after.program:
        yield Fact("the program", change.before.program or "none", change.after.program or "none")


def _differences(tonight: Report, last: Report | None, worse: Iterable[Change]) -> Iterator[News]:
    """Group new differences of the catalogue's cases by cause, and by why they may be new."""
    found: dict[tuple[str, str], list[tuple[Result, Blame]]] = {}
    for change in worse:
        told = _blamed(change, *_sides(change.backend, tonight, last))
        if change.after is not None:
            found.setdefault((change.backend, told.kind), []).append((change.after, told))
    causes = Causes(tonight) if found else None
    for (name, _), pairs in found.items():
        before, after = _sides(name, tonight, last)
        groups = summary.groups(Report((replace(after, results=tuple(result for result, _ in pairs)),)))
        for group in causes.split(groups) if causes else ():
            said = causes.sentence(group) if causes else ""
            told = next(told for result, told in pairs if result == group.example)
            yield News(_key(name, group), after, before, _statement(group), told, group=group, detail=said)


def _key(name: str, group: Group) -> str:
    reason, surfaces = summary.numberless(group.reason), sorted({*map(plain, group.surfaces)})
    return digest(plain(name), group.operator, group.status, group.kind, group.example.case, reason, *surfaces)


def _apart(news: Iterable[News]) -> Iterator[News]:
    """Give news whose key another of the night has a key of its own, by its number among those of the key."""
    counted: Counter[str] = Counter()
    for one in news:
        counted[one.key] += 1
        number = counted[one.key]
        yield one if number == 1 else replace(one, key=digest(one.key, str(number)))


def _statement(group: Group) -> str:
    counted = f"{plural(len(group.results), 'result')}, first {group.example.case}"
    return f"{group.operator} {group.action} on {', '.join(group.surfaces)}: {counted}."


def _findings(tonight: Report, last: Report | None, memory: Memory) -> tuple[list[News], int, Memory]:
    """Return what exploring found that was not told before, how much was, and all that has now been told."""
    for run in last.explored if last else ():
        memory = memory.with_findings(one for one, _ in _seen(run))
    news, known = [], 0
    for run in tonight.explored:
        before = _named(last.explored if last else (), run.name)
        found = dict(_seen(run))
        known += sum(memory.known(one) is not None for one in found)
        for first, *others in alike(one for one in found if not memory.known(one)):
            reason = blame(before, run, flickers=flickers(run, found[first]))
            like = tuple(found[one] for one in others)
            statement = found[first].sentence
            news.append(News(first.key, run, before, statement, reason, found[first], like=like))
        memory = memory.with_findings(found)
    return news, known, memory


def _seen(run: Backend) -> list[tuple[Seen, Finding]]:
    findings = run.header.explored.findings if run.header.explored else ()
    return [(Seen.of(run.name, one, run.header.started), one) for one in findings]


def flickers(run: Backend, finding: Finding) -> bool:
    """Whether the smallest case of a finding is not the same every time, or did not differ when it was run again."""
    statuses = {one.status for one in run.results if one.case == finding.case and one.surface in finding.surfaces}
    return finding.way == "flaky" or "flaky" in statuses or (not finding.unreferred and "pass" in statuses)


def _lost(tonight: Report, last: Report | None) -> Iterator[tuple[str, Finding]]:
    """Yield the findings of the night before that this one has not drawn again, by backend."""
    for run in last.explored if last else ():
        now = _named(tonight.explored, run.name)
        here = [one for one, _ in _seen(now)] if now else None
        for seen, finding in _seen(run) if here is not None else ():
            if not any(one.same(seen) for one in here or ()):
                yield run.name, finding
