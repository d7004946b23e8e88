"""Run the documentation's code blocks that need a backend: `framework_blocks.py BACKEND`, in its environment.

The blocks have the comment `<!-- not run: needs BACKEND -->`. Each must exit with 0 and print the text block below it.
Blocks in JavaScript find the npm packages of the backend.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from conformance.adapters import registry  # noqa: E402
from tests.support.documentation_blocks import NEEDS_BACKEND, PAGES, Block, blocks, matches, run  # noqa: E402


def problem_of(block: Block) -> str:
    """Run a block in its own folder and process; return the problem, "" if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            printed = run(Path(folder), block.language, block.text, errors=subprocess.DEVNULL)
        except AssertionError as error:
            return f"{block.place} fails\n{error}"
    if block.output is not None and not matches(printed, block.output):
        return f"{block.place} prints\n{printed}"
    return ""


def main(backend: str) -> str:
    """Run all blocks of a backend; return the problems, one per block."""
    if worker := registry.get_backend(backend).worker:
        os.environ["NODE_PATH"] = str(Path(worker.arguments[2]) / "node_modules")
    found = [block for page in PAGES for block in blocks(page) if block.why_not == NEEDS_BACKEND + backend]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(problem_of, found) if problem]
    print(f"{len(found) - len(problems)} of {len(found)} blocks that need {backend} print what the page says")
    return "\n".join(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) or 0)
