"""Many things at once: the same answers, in order; and what goes wrong is one line."""

import os

import pytest

from conformance.errors import ConformanceError
from conformance.parallel import each

THINGS = list(range(200))


def square(number):
    return number * number


def where(_number):
    return os.getpid()


def die(number):
    if number == 150:
        os._exit(3)
    return number


def test_answers_are_in_order_whoever_gives_them():
    assert list(each(square, THINGS, 2)) == list(each(square, THINGS, 1)) == list(map(square, THINGS))


def test_other_processes_do_the_work():
    assert os.getpid() not in set(each(where, THINGS, 2))
    assert set(each(where, THINGS, 1)) == {os.getpid()}


def test_few_things_are_not_worth_a_process():
    assert set(each(where, THINGS[:20], 2)) == {os.getpid()}


def test_process_that_dies_is_one_line():
    with pytest.raises(ConformanceError, match="a process of the check died"):
        list(each(die, THINGS, 2))
