"""On-disk cache of programs. Translating the catalogue takes seconds, so runs reuse the programs."""

from __future__ import annotations

from functools import partial

from conformance.adapters.api import ON_CPU, Backend, Lowering, Program, Surface, Unsupported, without_label
from conformance.cases.case import Case
from conformance.system.cache import OBJECT_KEY, Cache, source_digest
from conformance.translation.lowering import translate
from reports.results.vocabulary import How

# With the dot, because the package of another backend may be `conformance_scipy`.
OWN_PACKAGE = "conformance."
CACHED_CLASSES = (Program, Unsupported, How)
MAX_PROGRAM_FILES = 32
"""Maximum number of cached files: one for each backend, catalogue and version of the source."""


class ProgramCache:
    """Programs of a backend for the cases of a catalogue, by case id and surface.

    The key contains the digests of the catalogue and of the suite's source. Backends that differ only in
    their label share programs. Programs of a backend from another package are not cached on disk, because the digest
    does not include its source.
    """

    def __init__(self, backend: Backend, digest: str) -> None:
        device = "" if backend.device == ON_CPU else f"-{backend.device.name}-{backend.device.precision}"
        version = f"{without_label(backend.name)}{device}-{digest[:16]}{source_digest()[:16]}"
        self.cached_programs: dict[tuple[str, str], Program | Unsupported] = {}
        self.file: Cache | None = None
        if _is_built_in(backend):
            with Cache.of_version("conformance-programs", version, MAX_PROGRAM_FILES) as self.file:
                self.cached_programs = self.file.get_object(OBJECT_KEY, CACHED_CLASSES) or {}
        # Many cases have the same program; sharing one object saves memory and disk space.
        self.unique_programs = {program: program for program in self.cached_programs.values()}
        self.new_programs = False

    def translate(self, case: Case, surface: Surface) -> Program | Unsupported:
        """Return the program of a case on a surface, see conformance.translation.lowering.translate."""
        key = case.id, surface.name
        if key not in self.cached_programs:
            program = translate(case, surface)
            self.cached_programs[key] = self.unique_programs.setdefault(program, program)
            self.new_programs = True
        return self.cached_programs[key]

    def save(self) -> None:
        """Write the cache to disk if it has new programs."""
        if self.file and self.new_programs:
            with self.file:
                self.file.put_object(OBJECT_KEY, self.cached_programs, CACHED_CLASSES)
            self.new_programs = False


def _is_built_in(backend: Backend) -> bool:
    """Whether all lowerings of the backend are defined in the suite's own modules."""
    return all(
        _unwrap_partial(lowering).__module__.startswith(OWN_PACKAGE)
        for surface in backend.surfaces
        for lowering in (*surface.lowerings.values(), *surface.fallbacks.values(), *surface.building_blocks.values())
    )


def _unwrap_partial(lowering: Lowering) -> Lowering:
    return _unwrap_partial(lowering.func) if isinstance(lowering, partial) else lowering
