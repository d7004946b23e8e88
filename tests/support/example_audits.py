"""An audit for tests of views: one layer that differs, and one that agrees."""

from reports.results import CaseRecord, Level, RecordedArray, Status
from reports.results.audits import (
    AUDIT_FORMAT,
    AuditedLayerRecord,
    AuditRecord,
    AuditTargetRecord,
    LayerDifferenceRecord,
    LayerVerdict,
    SmallestRecord,
    TargetVerdictRecord,
)

POOL = {"window": [2, 2], "stride": [2, 2], "padding": [[0, 0], [0, 0]], "dilation": [1, 1], "rounding": "floor"}


def array(*values):
    return RecordedArray("float32", (1, 1, 1, len(values)), values)


def smallest(**changes):
    """Return the smallest input of a lost NaN."""
    case = CaseRecord(
        case="max_pool/explored-1",
        operator="max_pool",
        level=Level.EXHAUSTIVE,
        about="",
        source="a test",
        via=(),
        question=None,
        parameters=POOL | {"window": [1, 2], "stride": [1, 2]},
        inputs={"x": array("nan", 3.0)},
        expected=array("nan"),
        digest="",
        pinned=0,
        terms=1,
    )
    return SmallestRecord(**{"case": case, "text": "max_pool, window 1 x 2", "got": array(3.0)} | changes)


def difference(**changes):
    """Return a difference with a NaN."""
    fields = {
        "numbers": "NaN",
        "verdict": LayerVerdict.DIFFERS,
        "text": "for NaN: it is lost",
        "status": Status.FAIL,
        "index": (0, 0, 0, 0),
        "got": 3.0,
        "expected": "nan",
        "budget_used": "inf",
        "smallest": smallest(),
    }
    return LayerDifferenceRecord(**fields | changes)


def layer(name, verdicts, **changes):
    """Return a pooling with these verdicts."""
    fields = {
        "names": (name,),
        "text": "max_pool, window 2",
        "operator": "max_pool",
        "parameters": POOL,
        "shape": (1, 3, 8, 8),
        "output": (1, 3, 4, 4),
        "dtype": "float32",
        "checked_shape": (1, 3, 8, 8),
        "verdicts": verdicts,
    }
    return AuditedLayerRecord(**fields | changes)


def audit(*layers, **changes):
    """Return an audit on two targets; without layers, one that differs on the first target."""
    same = TargetVerdictRecord(verdict=LayerVerdict.SAME, how="native")
    differs = TargetVerdictRecord(verdict=LayerVerdict.DIFFERS, how="native", differences=(difference(),))
    found = layers or (layer("stem.pool", {"one": differs, "two": same}), layer("head", {"one": same, "two": same}))
    fields = {
        "format": AUDIT_FORMAT,
        "model": "net.file",
        "surface": "one",
        "targets": (AuditTargetRecord(surface="one", version="framework 1.0"), AuditTargetRecord(surface="two")),
        "layers": found,
        "others": {"Relu": 3},
    }
    return AuditRecord(**fields | changes)
