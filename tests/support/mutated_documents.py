"""Hypothesis strategies for fuzzed documents: random changes of the data, and random changes of the encoded bytes."""

import copy
import json
import math
import os
import re

from hypothesis import HealthCheck, settings, strategies as st

CODE = "__import__('os').system('touch zqx')"
HOLE = "@hole {}@"
TEXTS = (
    "", " ", "nan", "-inf", "x\ny", "\x1b[2J\x1b[31m", "\x9b31m", "\u202eabc", "\u2028", "\ufeff", "\x7f\x08\r", "\0",
    "\ud800", "é" * 50, "a" * 5000, "../../zqx", "/zqx", "arrays/../../zqx", "a/../b", ".", "~/zqx", "C:\\zqx",
    "file:///etc/passwd", "a\0b", "\U0001f600", "１２", "float32 ", "max_pool/../../zqx", "*", "[red]x[/]", CODE,
    "<script>alert(1)</script>", "{{ 7 * 7 }}", "%s%n", "!!python/object/apply:os.system [touch zqx]", "=" * 40,
    ">=1,<2", "1" * 5000, "0x10", "2001-01-01", "<<", "__class__", "max_pool", "returned", "value", "bfloat16",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2, 3, 7, 0.5, -0.5, 1e-320, 1e308, 10**6, 10**6 + 1, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63,
    2**64, -(2**63) - 1, 10**30, 10**300, 10**399,
)  # fmt: skip
OTHERS = (None, True, False, [], {}, [[]], [None], [{}], {"": None}, [[1], [2, 3]], [0] * 9, [10**6] * 6, [2**62] * 3)
RAW = (
    "1e999", "-1e999", "NaN", "Infinity", "9" * 5000, "1" + "0" * 390, "1.0e-99999999", "1.0e+99999999",
    "[" * 45 + "]" * 45, "[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, '{"a": 1, "a": 2}', '"\\ud800"',
    '"\\u0000"', '"\\u001b[2J"', "{", "]", '"', "", "\0", "\x1b", "-", "&a [*a]", "*a", "!!set {a}", "!!float sNaN",
    "!!python/object/apply:os.system [touch zqx]", "!!binary aGk=", "[1, 2", "? [a]", "|\n  x", "{<<: {a: 1}}", "~",
    "&a [1, 2, *a, *a]", "!!int '1_000'", "1_000", "12:30:45", "0b11", "%YAML 3.0", "--- a\n--- b", "# x",
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(TEXTS), st.sampled_from(NUMBERS), st.sampled_from(OTHERS),
    st.sampled_from(range(len(RAW))).map(HOLE.format),
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12),
)  # fmt: skip


def places(part, path=()):
    """Return the path of each part of a document except the root."""
    found = [path] if path else []
    for key, child in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        found += places(child, (*path, key))
    return found


def at(whole, path):
    """Return the part of a document at a path."""
    for key in path:
        whole = whole[key]
    return whole


def _replace(draw, parent, key, _whole):
    parent[key] = draw(VALUES)


def _drop(_draw, parent, key, _whole):
    del parent[key]


def _double(draw, parent, key, _whole):
    if isinstance(parent, list):
        parent[key:key] = [copy.deepcopy(parent[key])] * draw(st.sampled_from([1, 2, 40]))
    else:
        parent[draw(st.sampled_from(TEXTS))] = copy.deepcopy(parent[key])


def _nest(draw, parent, key, _whole):
    for _ in range(draw(st.sampled_from([1, 1, 2, 50]))):
        parent[key] = [parent[key]] if draw(st.booleans()) else {"x": parent[key]}


def _retype(draw, parent, key, _whole):
    part = parent[key]
    kinds = [
        str(part),
        [part],
        {"values": part},
        bool(part),
        {str(n): v for n, v in enumerate(part)} if isinstance(part, list) else part,
    ]
    if isinstance(part, dict):
        kinds += [list(part), list(part.values())]
    if isinstance(part, (int, float)) and math.isfinite(part):
        kinds += [-part, part + 0.5 if abs(part) < 1e9 else 1, int(part) * 10**6, int(part) + 1]
    parent[key] = draw(st.sampled_from(kinds))


def _rename(draw, parent, key, _whole):
    if isinstance(parent, dict):
        parent[draw(st.sampled_from(TEXTS))] = parent.pop(key)
    else:
        parent.reverse()


def _swap(draw, parent, key, whole):
    """Replace a part by a copy of another part of the document."""
    parent[key] = copy.deepcopy(at(whole, one_of(draw, places(whole))))


ACTIONS = (_replace, _replace, _replace, _drop, _double, _nest, _retype, _retype, _rename, _swap)


class Known(list):
    """List of documents with a short repr for the output of hypothesis."""

    def __repr__(self):
        return f"{len(self)} documents"


def one_of(draw, things):
    """Draw one of many items by index, so that hypothesis prints only the index."""
    return things[draw(st.integers(0, len(things) - 1))]


def changed(documents, most=3):
    """Return a strategy for one of the documents, with one to `most` changes."""
    return _changed(Known(documents), most)


def bytes_changed(contents):
    """Return a strategy for one of the contents with some bytes changed, deleted, repeated or inserted."""
    return _bytes_changed(Known(contents))


@st.composite
def _changed(draw, documents, most):
    whole = copy.deepcopy(one_of(draw, documents))
    for _ in range(draw(st.integers(1, most))):
        known = places(whole)
        if not known:
            break
        # Most parts are deep in the document. A random prefix of the path gives changes near the root a fair share.
        path = one_of(draw, known)
        path = path[: draw(st.integers(1, len(path)))] if draw(st.booleans()) else path
        parent = at(whole, path[:-1])
        draw(st.sampled_from(ACTIONS))(draw, parent, path[-1], whole)
    return whole


def dumped(whole):
    """Return a document as JSON, which is also YAML. Markers are replaced by text that JSON cannot express."""
    text = json.dumps(whole, ensure_ascii=True)
    return re.sub(r'"@hole (\d+)@"', lambda hole: RAW[int(hole[1])], text).encode("utf-8", "surrogatepass")


@st.composite
def _bytes_changed(draw, contents):
    content = bytearray(one_of(draw, contents))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 1, 1, 2, 8, 64, 10**6])))
        put = draw(
            st.one_of(st.binary(max_size=4), st.sampled_from(RAW).map(str.encode), st.just(bytes(content[start:end])))
        )
        content[start:end] = put * draw(st.sampled_from([1, 1, 1, 2, 300]))
    return bytes(content)


def hostile(count):
    """Return settings for `count` documents in the nightly profile, and for a fortieth of them otherwise."""
    nightly = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
    return settings(
        max_examples=count if nightly else count // 40,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )
