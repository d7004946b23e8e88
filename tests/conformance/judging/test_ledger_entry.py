import pytest
import yaml

from conformance import CatalogueError, ConformanceError
from conformance.judging import ledger
from conformance.judging.ledger_entry import LedgerEntryDraft, append_entry, write_ledger

REASON = "It has always been so, and nobody has reported it upstream yet. " * 4
FIRST = """\
# A word about it all.
entries:
  # The first.
  - id: first
    cases: [max_pool/a*]   # all of them
    surfaces: [s.nn]
    kinds: [dtype]
    reason: >-
      Because it is so,
      and it will stay.
"""


def draft(**changed):
    plain = {"id": "new", "surfaces": ["s.nn"], "kinds": ["value"], "reason": REASON, "observed": "0 where 7 is right"}
    return LedgerEntryDraft(**{**plain, "where": {"padded": (True,)}, **changed})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "ledger.yaml"
    path.write_text(FIRST, "utf-8")
    return path


def read(path, item):
    write_ledger(path, append_entry(path, item))
    return ledger.load_ledger(path).entries[-1]


@pytest.mark.parametrize(
    "where",
    [
        {"operator": ("pad",), "value": (7, -1.5)},
        {"window": ((3, 2),)},
        {"padding": (((1, 0), (0, 1)), 2)},
        {"divisor": (None,), "padded": (False,), "values": ("nan", "-inf")},
        {"dtype": ("float32", "float64"), "extent": tuple(range(3, 60)), "channels": (3,)},
        {"dtype": ("float*",), "mode": ("0x2", "yes", "- x: #y")},
    ],
)
def test_a_selector_is_read_back_as_it_was(path, where):
    assert read(path, draft(where=where)).where == where


@pytest.mark.parametrize(
    "words",
    [
        REASON,
        "# no comment: {a: b}, 'c' is \"d\"",
        "NaN",
        "a\x00b\n\n  - c\u2028d" * 5,
        "x" * 300,
        "− 3 × 4 …",
        "- a: *b",
    ],
)
def test_words_are_read_back_on_one_line(path, words):
    entry = read(path, draft(reason=f"{words} said upstream so far", observed=words))
    said = "".join(sign if sign.isprintable() else " " for sign in words).strip()
    assert entry.observed == said
    assert entry.reason == f"{said} said upstream so far" or words == REASON


def test_what_stood_in_the_file_stays_as_it_was(path):
    text = append_entry(path, draft())
    assert text.startswith(FIRST)
    assert text.removeprefix(FIRST).startswith("\n  - id: new\n    where: {padded: true}\n")
    assert max(map(len, text.splitlines())) <= 120


def test_an_entry_of_ids_lists_them(path):
    entry = read(path, draft(where={}, cases=["max_pool/a", "conv/b"]))
    assert (entry.cases, entry.where) == (("max_pool/a", "conv/b"), {})


def test_versions_and_issue_stand_where_they_are_given(path):
    entry = read(path, draft(versions={"framework": ">=1.9,<1.10"}, issue="https://example.org/#4"))
    assert str(entry.versions["framework"]) == "<1.10,>=1.9"
    assert entry.issue == "https://example.org/#4"


def test_the_list_keeps_its_indentation(path):
    path.write_text(yaml.safe_dump({"entries": yaml.safe_load(FIRST)["entries"]}, sort_keys=False), "utf-8")
    assert path.read_text("utf-8").startswith("entries:\n- id")
    assert [entry.id for entry in (read(path, draft()), *ledger.load_ledger(path).entries)] == ["new", "first", "new"]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"reason": "too short"}, "key 'reason'"),
        ({"id": "Not An Id"}, "key 'id'"),
        ({"id": "first"}, "entry first: duplicate id"),
        ({"issue": "bug 7"}, "key 'issue'"),
        ({"observed": " "}, "key 'observed'"),
        ({"where": {}}, "an entry with the key 'cases', 'where' or both"),
    ],
)
def test_entry_that_the_ledger_refuses_is_not_written(path, changed, says):
    with pytest.raises(CatalogueError) as refused:
        append_entry(path, draft(**changed))
    assert all(line.startswith(f"{path}:1") for line in str(refused.value).splitlines())
    assert says in str(refused.value)
    assert path.read_text("utf-8") == FIRST


@pytest.mark.parametrize("text", ["entries: []\n", ""])
def test_file_without_an_entry_is_refused(path, text):
    path.write_text(text, "utf-8")
    with pytest.raises(ConformanceError, match=r"ledger\.yaml: has no entry"):
        append_entry(path, draft())


def test_file_that_is_not_there_is_one_line(tmp_path):
    for fails in (lambda path: append_entry(path, draft()), lambda path: write_ledger(path, "")):
        with pytest.raises(ConformanceError, match=r"No such file or directory$"):
            fails(tmp_path / "no" / "ledger.yaml")
