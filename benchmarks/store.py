"""Measure a store of results: bytes per row, and the time of a report and of queries, for 1 and 10 million rows.

The rows of a real run are repeated with other case ids, in files of 10,000 rows. Ids, digests and times are different
in each copy; all else repeats, as it does in sweeps. After the first ten files, each file is a copy of one of them.
Each report is a new process and each query a new connection. The files have just been written, so the disk cache is
warm.

    python benchmarks/store.py RESULTS.jsonl --rows 1000000 10000000 --write docs/scale.md
"""

import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import tables
from pyarrow import parquet

from reports.views.parquet import METADATA_KEY, RECORD_COLUMNS, store_bytes

ROWS_PER_FILE = 10_000
"""Number of results of a shard."""
ORIGINALS = 10
"""Number of files written as `conformance store` writes them; the others are copies of these."""
QUERIES = {
    "results by operator, surface and status": "SELECT operator, surface, status, count(*) FROM {} GROUP BY ALL",
    "failures, smallest input first": "SELECT \"case\", surface, message FROM {} WHERE status = 'fail' "
    "ORDER BY input_elements LIMIT 20",
    "largest share of the bound used, by operator and dtype": "SELECT operator, dtype, max(budget_used) FROM {} "
    "WHERE status = 'pass' GROUP BY ALL",
    "cases on which two surfaces differ": 'SELECT count(*) FROM (SELECT "case" FROM {} '
    "WHERE outcome <> 'unsupported' GROUP BY ALL HAVING count(DISTINCT verdict) > 1)",
    "everything about one case": "SELECT * EXCLUDE (started) FROM {} WHERE \"case\" = '{}'",
}
VIEW = (
    "import sys\nfrom conformance.cli import main\nmain(['report', sys.argv[1], '--format', 'markdown', '--out', '-'])"
)


def blocks(path: Path) -> tuple[dict, list[list[dict]], dict]:
    """Return the header, the records of each case in file order, and the footer."""
    header, *records, footer = (json.loads(line) for line in path.open(encoding="utf-8"))
    known = {one["case"]: one for one in records if one["record"] == "case"}
    programs = {one["program"]: one for one in records if one["record"] == "program"}
    answers = {(one["case"], one["surface"]): one for one in records if one["record"] == "convention"}
    found: dict[str, list[dict]] = {}
    for one in records:
        if one["record"] == "result":
            block = found.setdefault(one["case"], [known[one["case"]]])
            key = one["case"], one["surface"]
            block += [*filter(None, (programs.get(one["program"]), answers.get(key))), one]
    return header, list(found.values()), footer


def files(source: Path, folder: Path) -> Iterator[Path]:
    """Yield a results file for each shard, with different case ids. Each file overwrites the previous one."""
    header, cases, footer = blocks(source)
    rng = random.Random(1)  # noqa: S311 - no secret
    path, number = folder / "shard.jsonl", 0
    for shard in range(1, ORIGINALS + 1):
        written, lines, results = set(), [{**header, "shard": {"number": shard, "of": ORIGINALS}}], []
        while len(results) < ROWS_PER_FILE:
            number += 1
            for one in cases[number % len(cases)]:
                if one["record"] == "program":
                    lines += [one] * (one["program"] not in written)
                    written.add(one["program"])
                    continue
                other = {**one, "case": f"{one['case']}-{number}"}
                if other.get("digest"):
                    other["digest"] = hashlib.blake2b(str(rng.random()).encode(), digest_size=16).hexdigest()
                if other["record"] == "result":
                    other |= {"seconds": round(rng.expovariate(2000), 6), "place": [0, len(results)]}
                    results.append(other)
                lines.append(other)
        counts = dict(Counter(one["status"] for one in results))
        lines.append({**footer, "results": len(results), "by_status": counts})
        path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
        yield path


def create_originals(source: Path, folder: Path) -> dict[str, float]:
    """Write the original files; return bytes per row in them and in results files, and their time."""
    text = taken = 0.0
    for count, path in enumerate(files(source, folder), 1):
        text += path.stat().st_size
        start = time.perf_counter()
        content, _ = store_bytes(path)
        (folder / f"0-{count}.parquet").write_bytes(content)
        taken += time.perf_counter() - start
        path.unlink()
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    rows = sum(parquet.read_metadata(path).num_rows for path in folder.glob("*.parquet"))
    return {
        "JSON lines, bytes per row": text / rows,
        "store, bytes per row": size / rows,
        "created from results files, s per 10,000": taken / count,
    }


def copy_originals(folder: Path, copies: int) -> None:
    """Write this number of copies of each original file, each with different case ids."""
    for path in sorted(folder.glob("0-*.parquet")):
        original = parquet.read_table(path)
        for copy in range(copies):
            target = folder / path.name.replace("0-", f"{copy}-", 1)
            parquet.write_table(_other(original, copy, copies), target, compression="zstd")


def _other(table: pa.Table, copy: int, copies: int) -> pa.Table:
    """Return the rows of a shard with the case ids and the shard number of a copy."""
    names = table["case"].to_pylist()
    suffix = f"-{copy}" if copy else ""
    table = table.set_column(table.column_names.index("case"), "case", pa.array([name + suffix for name in names]))
    for column in RECORD_COLUMNS:
        texts = zip(table[column].to_pylist(), names, strict=True)
        renamed = [text and text.replace(f'"case": "{name}"', f'"case": "{name}{suffix}"') for text, name in texts]
        table = table.set_column(table.column_names.index(column), column, pa.array(renamed, pa.string()))
    run = json.loads(table.schema.metadata[METADATA_KEY])
    number = (run["header"]["shard"]["number"] - 1) % ORIGINALS + 1 + copy * ORIGINALS
    run["header"]["shard"] = {"number": number, "of": ORIGINALS * copies}
    return table.replace_schema_metadata({METADATA_KEY: json.dumps(run)})


def measure_queries(folder: Path) -> dict[str, float]:
    """Return the seconds of the report and of each query."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", VIEW, str(folder)], check=False, stdout=subprocess.DEVNULL)  # noqa: S603
    times = {"`report --format markdown`, s": time.perf_counter() - start}
    times["memory of this report, MB"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    table = f"'{folder}/*.parquet'"
    (case,) = duckdb.sql(f'SELECT min("case") FROM {table}').fetchall()[0]  # noqa: S608 - our own
    for name, query in QUERIES.items():
        start = time.perf_counter()
        with duckdb.connect() as connection:
            connection.execute(query.format(table, case)).fetchall()
        times[f"query: {name}, s"] = time.perf_counter() - start
    return times


def main() -> None:
    """Parse the command line, measure, print the table, and write it if requested."""
    parser = tables.arguments(__doc__)
    parser.add_argument("results", type=Path, help="results file of a real run")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    arguments = parser.parse_args()
    columns = []
    with tempfile.TemporaryDirectory() as folder:
        sizes = create_originals(arguments.results, Path(folder))
        for rows in arguments.rows:
            for path in Path(folder).glob("[1-9]*-*.parquet"):  # the metadata contains the number of shards
                path.unlink()
            copy_originals(Path(folder), max(1, rows // (ORIGINALS * ROWS_PER_FILE)))
            columns.append(sizes | measure_queries(Path(folder)))
    body = [
        [name, *(f"{column[name]:,.{0 if ' row' in name or 'MB' in name else 2}f}" for column in columns)]
        for name in columns[0]
    ]
    head = ["rows", *(f"{rows:,}" for rows in arguments.rows)]
    tables.write_table(f"Rows of `{arguments.results.stem}`, {tables.environment()}", head, body, arguments.write)


if __name__ == "__main__":
    main()
