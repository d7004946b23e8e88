"""Samples of the variants of a case, a few for each kind of change."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

from conformance.exploration.declared_answers.variants import Variant

SEED = 5
"""Seed of the samples. Together with the id of a case it decides which variants are drawn."""
NUMBER = re.compile(r"\b\d+\b")
"""A number in the name of a variant, but not the digits of a dtype."""


def sample_variants(variants: Iterable[Variant], per_change: int) -> Iterator[Variant]:
    """Yield the case itself, and at most `per_change` variants of each kind of change, in their order.

    Variants whose names differ only in numbers have the same kind of change: `channels 3` and `channels 17`, but not
    `channel 0 of 3`.
    """
    groups: dict[str, list[tuple[int, Variant]]] = {}
    for number, variant in enumerate(variants):
        groups.setdefault(NUMBER.sub("", variant.name), []).append((number, variant))
    chosen: list[tuple[int, Variant]] = []
    for kind, group in groups.items():
        rng = random.Random(f"{SEED} {group[0][1].base.id} {kind}")  # noqa: S311 - a sample, not a secret
        chosen += group if not kind else rng.sample(group, min(per_change, len(group)))
    yield from (variant for _, variant in sorted(chosen, key=lambda one: one[0]))
