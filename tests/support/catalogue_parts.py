"""The catalogue of the suite, and a part of it for tests that visit every surface.

HYPOTHESIS_PROFILE=nightly visits every case on each.
"""

import hashlib
from functools import cache

from conformance.catalogue.loading import load_catalogue
from tests.support.nightly import NIGHTLY

PARTS = 1 if NIGHTLY else 6


@cache
def suite_catalogue():
    """Return the catalogue of the suite. A process reads it once."""
    return load_catalogue()


@cache
def cases_by_id(level):
    """Return the cases up to a level by id."""
    return {case.id: case for case in suite_catalogue().select(level)}


def cases_of_part(cases, number):
    """Return the cases of level smoke and those of one of six parts, which depend on a digest of the case id.

    number: any number, such as that of a surface. Six surfaces in a row visit all cases.
    """
    return [case for case in cases if case.level == "smoke" or _part_of(case) == number % PARTS]


def _part_of(case):
    return hashlib.blake2b(case.id.encode(), digest_size=4).digest()[0] % PARTS
