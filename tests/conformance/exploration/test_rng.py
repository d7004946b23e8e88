"""Random numbers that are the same on every machine."""

from collections import Counter

from conformance.exploration.rng import Rng


def test_same_seeds_give_the_same_numbers_everywhere():
    assert [Rng("max_pool", 7).randrange(1000) for _ in range(2)] == [Rng("max_pool", 7).randrange(1000)] * 2
    rng = Rng(0)
    assert [rng.randrange(100) for _ in range(5)] == [61, 40, 96, 50, 98]


def test_other_seeds_give_other_numbers():
    assert len({tuple(Rng(*seeds).randrange(10**9) for _ in range(2)) for seeds in ((0,), (1,), ("0",), (0, 0))}) == 4


def test_both_bounds_are_drawn():
    rng = Rng("bounds")
    assert Counter(rng.randint(-1, 1) for _ in range(100)).keys() == {-1, 0, 1}
    assert {rng.choice("ab") for _ in range(50)} == {"a", "b"}
    assert {rng.one_in(2) for _ in range(50)} == {True, False}
    assert all(rng.one_in(1) for _ in range(50))


def test_half_of_all_draws_have_only_unusual_values():
    draws = []
    for number in range(400):
        rng = Rng("draw", number)
        rng.start_draw()
        draws.append({rng.usual_or_unusual((False,), (True,)) for _ in range(20)})
    assert {frozenset(draw) for draw in draws} == {frozenset({True}), frozenset({True, False})}
    assert 150 < draws.count({True}) < 250
