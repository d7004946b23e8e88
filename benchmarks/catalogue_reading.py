"""Measure the reading and the validation of case files: the time for each case, and its ratio to the YAML parser alone.

python benchmarks/catalogue_reading.py --cases 50000 --rounds 3

The files contain cases of max pooling in one to three dimensions with different extents, windows and strides. Each
round reads a tenth, a third and all of the cases, and the text of all cases with the C loader of PyYAML.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import yaml

from conformance.cases.yaml_reader import MAX_YAML_BYTES
from conformance.catalogue.loading import load_catalogue

CASES_PER_FILE = 9_000
SHARES = (10, 3, 1)


def case_text(number: int) -> str:
    """Return a valid case; its geometry depends on its number."""
    rank, window, stride = number % 3 + 1, number // 3 % 4 + 1, number // 12 % 3 + 1
    shape = [1, 1 + number % 5, *[window + number // 36 % 40] * rank]
    windows = f"window: {[window] * rank}, stride: {[stride] * rank}"
    return f"  - {{id: n{number}, x: {{values: arange, shape: {shape}}}, {windows}}}\n"


def write_files(folder: Path, count: int) -> Path:
    """Write files with a number of cases in a new folder and return its path."""
    family = folder / str(count) / "windows"
    family.mkdir(parents=True)
    for start in range(0, count, CASES_PER_FILE):
        texts = map(case_text, range(start, min(start + CASES_PER_FILE, count)))
        text = "operator: max_pool\nsource: generated\ncases:\n" + "".join(texts)
        assert len(text) <= MAX_YAML_BYTES
        (family / f"max_pool_{start}.yaml").write_text(text, "utf-8")
    return family.parent


def processor_time(function: Callable[[], object]) -> float:
    """Return the processor time of a call in seconds."""
    start = time.process_time()
    function()
    return time.process_time() - start


def parse_with_pyyaml(folder: Path) -> None:
    """Read the files of a folder as plain YAML."""
    for path in folder.glob("*/*.yaml"):
        yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)


def main() -> None:
    """Print the median time of each size, and the median ratio to PyYAML for all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    counts = [arguments.cases // share for share in SHARES]
    with tempfile.TemporaryDirectory() as temporary:
        folders = {count: write_files(Path(temporary), count) for count in counts}
        rounds = []
        for _ in range(arguments.rounds):
            times = {count: processor_time(lambda path=path: load_catalogue([path])) for count, path in folders.items()}
            rounds.append((times, times[counts[-1]] / processor_time(lambda: parse_with_pyyaml(folders[counts[-1]]))))
    for count in counts:
        seconds = median(times[count] for times, _ in rounds)
        print(f"{count:,} cases: {seconds:.1f} s, {seconds / count * 1e6:.0f} microseconds a case")
    print(f"{median(ratio for _, ratio in rounds):.2f} times the time of PyYAML alone")


if __name__ == "__main__":
    main()
