"""On-disk cache of expected results and case records, shared between backends and runs.

A key is the digest of the content of a case. A cache file belongs to one state of the suite's source, without its
adapters, and to the versions of its dependencies, so its entries cannot be outdated. Entries that cannot be read are
computed again. Entries that cannot be written are dropped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

from conformance.cases.case import Case
from conformance.execution.records import case_record_line
from conformance.judging.expected import Expected, Target, compute_expected
from conformance.system.cache import Cache, source_digest
from conformance.system.data_format import decode_object, encode_object
from reference import Exact

SOURCE_FILES = (
    "reference",
    "reports/results",
    *(
        f"conformance/{name}"
        for name in ("__init__.py", "system", "cases", "judging", "translation", "catalogue", "execution")
    ),
)
"""Source that the expected results depend on: everything except adapters, exploration and user interfaces."""
MAX_RESULT_ELEMENTS = 1 << 16
"""Maximum number of elements of a cached result. Caching computes lazy details of a result, slow for large ones."""
MAX_EXPECTATION_FILES = 2
"""Maximum number of cache files. Each is for one state of the source and one set of versions."""
CACHED_CLASSES = (Expected, Target, Exact)
EXPECTED_FIELDS = frozenset(one.name for one in fields(Expected))
EXACT_FIELDS = ("value", "high", "low", "terms", "magnitude", "extra", "exact")


@contextlib.contextmanager
def expectation_source(*, use_caches: bool) -> Iterator[Callable[[Case], Expected]]:
    """Yield `compute_expected`, with the on-disk cache unless use_caches is false. New entries are saved at the end."""
    if not use_caches:
        yield compute_expected
        return
    with open_expectation_cache() as cached:
        yield cached


@contextlib.contextmanager
def open_expectation_cache() -> Iterator[Callable[[Case], Expected]]:
    """Yield a cached `compute_expected`. New entries are saved at the end."""
    version = source_digest(SOURCE_FILES)
    with Cache.of_version("conformance-expected", version, MAX_EXPECTATION_FILES) as entries:
        yield partial(cached_expected, entries)


def cached_expected(entries: Cache, case: Case) -> Expected:
    """Return the expected result of a case, from the cache or from compute_expected. Raises CatalogueError."""
    entry = entries.get_object(case.content_digest, ())
    if entry is not None:
        return LazyExpected(case, *entry)
    computed = compute_expected(case)
    line = case_record_line(case, computed)
    exacts = [target.exact for target in computed.targets if target.exact is not None]
    if all(exact.value.size <= MAX_RESULT_ELEMENTS for exact in exacts):
        # The document inside the entry is decoded only if a result is judged.
        entries.put_object(case.content_digest, (line, encode_object(_fully_computed(computed), CACHED_CLASSES)), ())
    return replace(computed, record_line=line)


class LazyExpected(Expected):
    """Cached expected result: the case record, and the other fields in a document that is decoded on first access.

    Unsupported results need only the case record.
    """

    def __init__(self, case: Case, line: str, content: bytes) -> None:
        vars(self).update(record_line=line, _case=case, _content=content)  # the dataclass is frozen

    def __getattr__(self, name: str) -> Any:
        if name not in EXPECTED_FIELDS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        try:
            loaded: Expected = decode_object(self._content, CACHED_CLASSES)
        except ValueError:  # a file of this user that another version of the suite has written
            loaded = compute_expected(self._case)
        vars(self).update({**vars(loaded), "record_line": self.record_line, "_content": b""})
        return vars(self)[name]


def _fully_computed(expected: Expected) -> Expected:
    """Return an expected result whose lazy details have been computed."""
    target = None if expected.target is None else _computed_target(expected.target)
    answers = {name: _computed_target(answer) for name, answer in expected.answers.items()}
    return replace(expected, target=target, answers=answers)


def _computed_target(target: Target) -> Target:
    if target.exact is None:
        return target
    details: dict[str, Any] = {name: getattr(target.exact, name) for name in EXACT_FIELDS}
    return replace(target, exact=Exact(**details))
