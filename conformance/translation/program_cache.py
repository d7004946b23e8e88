"""Programs as they were written before, by content of the catalogue and of the suite's source: it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from conformance.adapters.api.devices import ON_CPU
from conformance.adapters.api.surface import Backend, Lowering, Program, Surface, Unsupported, without_label
from conformance.cases.case import Case
from conformance.system import cache
from conformance.system.cache import cache_folder, source_digest
from conformance.translation.lowering import translate

OWN_PACKAGE = "conformance."
MAX_PROGRAM_FILES = 32
"""Files that are kept: one for each backend, catalogue and content of the source."""


class ProgramCache:
    """The programs of a backend for the cases of a catalogue: written once, and kept from then on.

    Two versions of one backend in a run, told apart by labels, have the same ones. Those of another package's backend
    are not kept, as nothing tells when its source changes.
    """

    def __init__(self, backend: Backend, digest: str) -> None:
        where = "" if backend.device == ON_CPU else f"-{backend.device.name}-{backend.device.precision}"
        name = f"{without_label(backend.name)}{where}-{digest[:16]}{source_digest()[:16]}.pickle"
        self.path = cache_folder("conformance-programs") / name if _is_built_in(backend) else None
        kept = self.path and cache.read(self.path)
        self.cached_programs: dict[tuple[str, str], Program | Unsupported] = kept or {}
        self.unique_programs = {made: made for made in self.cached_programs.values()}
        self.new_programs = False

    def translate(self, case: Case, surface: Surface) -> Program | Unsupported:
        """Return the program that carries a case out on a surface, see conformance.translate."""
        key = case.id, surface.name
        if key not in self.cached_programs:
            made = translate(case, surface)
            self.cached_programs[key] = self.unique_programs.setdefault(made, made)
            self.new_programs = True
        return self.cached_programs[key]

    def save(self) -> None:
        """Keep what is new."""
        if self.path and self.new_programs:
            cache.write(self.path, self.cached_programs, MAX_PROGRAM_FILES)
            self.new_programs = False


def _is_built_in(backend: Backend) -> bool:
    """Whether all that the backend says stands in the suite's own modules."""
    return all(module.startswith(OWN_PACKAGE) for module in _modules_of_backend(backend))


def _modules_of_backend(backend: Backend) -> Iterator[str]:
    for surface in backend.surfaces:
        for verb in (*surface.lowerings.values(), *surface.fallbacks.values(), *surface.building_blocks.values()):
            yield _unwrap_partial(verb).__module__


def _unwrap_partial(lowering: Lowering) -> Lowering:
    return _unwrap_partial(lowering.func) if isinstance(lowering, partial) else lowering
