"""Programs as they were written before, by content of the catalogue and of the suite's source: it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from conformance.adapters.api.devices import ON_CPU
from conformance.adapters.api.surface import Backend, Program, Surface, Unsupported, Verb, plain
from conformance.cases.case import Case
from conformance.system import cache
from conformance.system.cache import environment, folder
from conformance.translation.lowering import translate

OWN = "conformance."
FILES = 32
"""Files that are kept: one for each backend, catalogue and content of the source."""


class Written:
    """The programs of a backend for the cases of a catalogue: written once, and kept from then on.

    Two versions of one backend in a run, told apart by labels, have the same ones. Those of another package's backend
    are not kept, as nothing tells when its source changes.
    """

    def __init__(self, backend: Backend, digest: str) -> None:
        where = "" if backend.device == ON_CPU else f"-{backend.device.name}-{backend.device.precision}"
        name = f"{plain(backend.name)}{where}-{digest[:16]}{environment()[:16]}.pickle"
        self.path = folder("conformance-programs") / name if _own(backend) else None
        kept = self.path and cache.read(self.path)
        self.known: dict[tuple[str, str], Program | Unsupported] = kept or {}
        self.shared = {made: made for made in self.known.values()}
        self.fresh = False

    def translate(self, case: Case, surface: Surface) -> Program | Unsupported:
        """Return the program that carries a case out on a surface, see conformance.translate."""
        key = case.id, surface.name
        if key not in self.known:
            made = translate(case, surface)
            self.known[key] = self.shared.setdefault(made, made)
            self.fresh = True
        return self.known[key]

    def save(self) -> None:
        """Keep what is new."""
        if self.path and self.fresh:
            cache.write(self.path, self.known, FILES)
            self.fresh = False


def _own(backend: Backend) -> bool:
    """Whether all that the backend says stands in the suite's own modules."""
    return all(module.startswith(OWN) for module in _modules(backend))


def _modules(backend: Backend) -> Iterator[str]:
    for surface in backend.surfaces:
        for verb in (*surface.verbs.values(), *surface.composed.values(), *surface.around.values()):
            yield _innermost(verb).__module__


def _innermost(verb: Verb) -> Verb:
    return _innermost(verb.func) if isinstance(verb, partial) else verb
