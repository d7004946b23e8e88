"""Time of `conformance check` on the suite's own catalogue: one process, all cores, and with what is known already.

python benchmarks/check_speed.py --rounds 3

The rounds alternate, so that whatever else the machine does burdens all alike: the ratios are what to look at.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

from conformance.catalogue import check, loading
from conformance.catalogue.check import CheckCache
from conformance.judging import ledger
from conformance.system.parallel import core_count


def seconds(examiner: check.CaseChecker) -> float:
    """Return how long a whole check takes, reading included."""
    start = time.perf_counter()
    assert (
        list(check.check_problems(loading.load_catalogue(), ledger.load_ledger(), check.read_lock(), checker=examiner))
        == []
    )
    return time.perf_counter() - start


def known(folder: str) -> CheckCache:
    """Return a cache that holds the whole catalogue."""
    empty = CheckCache(Path(folder) / "cache.json")
    seconds(check.CaseChecker(empty))
    return CheckCache(empty.path, {**empty.records, **empty.new_records})


def main() -> None:
    """Print the medians and their ratios to one process."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    rounds = arguments.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "one process": check.CaseChecker(jobs=1),
            f"{core_count()} processes": check.CaseChecker(),
            "known already": check.CaseChecker(known(folder)),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, examiner in ways.items():
                times[way].append(seconds(examiner))
    base = median(times["one process"])
    print(f"{len(loading.load_catalogue().cases)} cases, median of {rounds} rounds")
    for way, taken in times.items():
        print(f"{way:<14} {median(taken):7.2f} s   {base / median(taken):5.1f} times as fast as one process")


if __name__ == "__main__":
    main()
