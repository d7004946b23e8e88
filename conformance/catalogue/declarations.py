"""Check the declarations of a backend before its run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from conformance.adapters.api import Backend
from conformance.catalogue.loading import Catalogue, load_catalogue
from conformance.judging.declaration_check import answers_by_convention, check_declarations


def check_declarations_of_run(backend: Backend, catalogue: Catalogue, paths: Sequence[Path]) -> None:
    """Check the declarations of a backend for a run of a catalogue. Raises CatalogueError with one line for each error.

    paths: the case files of the catalogue, if it is not the built-in one. The answers of a backend of another package
    to conventions of the built-in catalogue are checked, too.
    """
    cases = catalogue.cases
    declared = {convention for surface in backend.surfaces for convention in surface.declarations}
    if paths and not backend.trusted and declared - answers_by_convention(cases).keys():
        # The last one counts if both have a convention with the same name.
        check_declarations(backend, chain(load_catalogue().cases, cases), whole_catalogue=False)
    else:
        check_declarations(backend, cases, whole_catalogue=not paths)
