"""Measure `conformance check` on the suite's own catalogue: with one process, with all cores, and with a full cache.

python benchmarks/check_speed.py --rounds 3

Each round measures all three, so other load on the machine affects all of them. Compare ratios rather than times.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from unittest import mock

from conformance.catalogue import check, loading
from conformance.catalogue.check import CheckCache
from conformance.judging import ledger
from conformance.system import cache
from conformance.system.parallel import core_count


def seconds(checker: check.CaseChecker) -> float:
    """Return the time of a complete check in seconds, including the reading of all files."""
    start = time.perf_counter()
    assert (
        list(check.check_problems(loading.load_catalogue(), ledger.load_ledger(), check.read_lock(), checker=checker))
        == []
    )
    return time.perf_counter() - start


def full_cache() -> CheckCache:
    """Return a cache that contains the whole catalogue."""
    seconds(check.CaseChecker(CheckCache()))
    return CheckCache()


def main() -> None:
    """Print the median times and their ratios to one process."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    rounds = arguments.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(cache, "cache_folder", Path(folder).joinpath):
        checkers = {
            "one process": check.CaseChecker(jobs=1),
            f"{core_count()} processes": check.CaseChecker(),
            "full cache": check.CaseChecker(full_cache()),
        }
        times: dict[str, list[float]] = {name: [] for name in checkers}
        for _ in range(rounds):
            for name, checker in checkers.items():
                times[name].append(seconds(checker))
    base = median(times["one process"])
    print(f"{len(loading.load_catalogue().cases)} cases, median of {rounds} rounds")
    for name, taken in times.items():
        print(f"{name:<14} {median(taken):7.2f} s   {base / median(taken):5.1f} times as fast as one process")


if __name__ == "__main__":
    main()
