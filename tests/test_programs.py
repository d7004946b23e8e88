"""Programs as text: nothing in them but the framework's names, their own, numbers and the suite's words.

A third of the cases of the standard level is translated for each surface, another third for the next one, chosen by
digests of their ids: the same on every run. tests/test_adapters.py parses them all.
"""

import hashlib
from types import SimpleNamespace

import pytest
from programs import SURFACES, strangers

from conformance.adapter import Program
from conformance.translate import translate

PARTS = 3
HOSTILE = {
    "def run(x):\n    return eval('x')\n": "the name eval",
    "def run(x):\n    return open('x')\n": "the name open",
    "def run(x):\n    import os\n    return x\n": "an import",
    "def run(x):\n    return x\nos.abort()\n": "more than the function run",
    "import os\ndef run(x):\n    return x\n": "more than the function run",
    "def run(x, y):\n    return x\n": "other arguments",
    "def run(x, y=os.abort()):\n    return x\n": "other arguments",
    "def run(x):\n    return x.__class__\n": "the private attribute __class__",
    "def run(x):\n    return x.zyx\n": "the words 'zyx'",
    "def run(x):\n    return torch.load(x, 'zyx')\n": "the words 'zyx'",
    "def run(x):\n    global torch\n    return x\n": "a name of the module",
}


def share(case):
    """Return which part a case belongs to."""
    return hashlib.blake2b(case.id.encode(), digest_size=4).digest()[0] % PARTS


@pytest.mark.parametrize("text", HOSTILE)
def test_check_finds_what_does_not_belong(text):
    backend = next(backend for backend, surface in SURFACES if surface.name == "torch.nn")
    assert any(HOSTILE[text] in found for found in strangers(backend, SimpleNamespace(inputs={"x": None}), text))


@pytest.mark.parametrize("number", range(len(SURFACES)), ids=lambda number: SURFACES[number][1].name)
def test_program_holds_numbers_and_known_words_alone(catalogue, number):
    backend, surface = SURFACES[number]
    seen = set()
    for case in catalogue.cases:
        program = translate(case, surface) if share(case) == number % PARTS or case.level == "smoke" else None
        if isinstance(program, Program) and program.text not in seen:
            seen.add(program.text)
            assert [*strangers(backend, case, program.text)] == [], f"{case.id}: {program.text}"
    assert seen
