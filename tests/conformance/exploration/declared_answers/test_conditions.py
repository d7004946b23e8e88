"""A declared condition covers a variant if it names the change, and if all observed answers are declared."""

import pytest

from conformance.adapters.api import Declaration
from conformance.exploration.declared_answers.conditions import Change, is_within_condition

PROPAGATES, FIRST = "propagates", "first"


def depends_on(condition):
    return Declaration(PROPAGATES, depends_on=condition, by_case={"max_pool/other": FIRST})


@pytest.mark.parametrize(
    ("condition", "change", "other"),
    [
        ("the number of images", Change.IMAGES, Change.CHANNELS),
        ("the number of channels", Change.CHANNELS, Change.IMAGES),
        ("the number of groups", Change.CHANNELS, Change.WINDOW),
        ("the number of dimensions", Change.AXES, Change.EXTENT),
        ("the number of bins", Change.REPEATED_AXES, Change.AXES),
        ("the number of cells", Change.EXTENT, Change.AXES),
        ("the size of the window", Change.WINDOW, Change.DTYPE),
        ("the dtype", Change.DTYPE, Change.IMAGES),
    ],
)
def test_a_condition_covers_the_change_that_it_names_and_no_other(condition, change, other):
    assert is_within_condition(depends_on(condition), change, [FIRST])
    assert not is_within_condition(depends_on(condition), other, [FIRST])


def test_an_answer_that_no_case_has_is_not_covered():
    assert is_within_condition(depends_on("the dtype"), Change.DTYPE, [FIRST, PROPAGATES])
    assert not is_within_condition(depends_on("the dtype"), Change.DTYPE, [FIRST, "other"])


def test_no_change_is_covered_without_a_condition():
    assert not any(is_within_condition(Declaration(PROPAGATES), change, [PROPAGATES]) for change in Change)


def test_a_case_itself_is_never_covered():
    assert not is_within_condition(depends_on("the dtype and the number of cells"), Change.NOTHING, [FIRST])
