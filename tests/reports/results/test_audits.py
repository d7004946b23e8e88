import pytest

from reports.results import RecordError
from reports.results.audits import LayerVerdict, encode_audit, read_audit
from tests.support import example_audits as example


def written(folder, audit=None, text=None):
    path = folder / "audit.json"
    path.write_text(encode_audit(audit or example.audit()) if text is None else text, "utf-8")
    return path


def test_a_written_audit_is_read_again(tmp_path):
    assert encode_audit(read_audit(written(tmp_path))) == encode_audit(example.audit())


def test_nan_is_written_as_a_string(tmp_path):
    worst = example.difference(expected=float("nan"), budget_used=float("inf"))
    verdict = example.TargetVerdictRecord(verdict=LayerVerdict.DIFFERS, differences=(worst,))
    text = encode_audit(example.audit(example.layer("a", {"one": verdict, "two": verdict})))
    assert '"expected": "nan"' in text
    assert '"budget_used": "inf"' in text
    assert read_audit(written(tmp_path, text=text)).worst("one") is LayerVerdict.DIFFERS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not an audit: not JSON"),
        ("[]", "not an audit: expected `object`"),
        ('{"format": 1}', "not an audit"),
        (encode_audit(example.audit(format=2)), "format 2 of an audit"),
        (encode_audit(example.audit(example.layer("a", {}))), "no verdict of one, two"),
        (encode_audit(example.audit(example.layer("a", {}, names=()), targets=())), "a layer has no name"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path, text, message):
    with pytest.raises(RecordError, match=message) as caught:
        read_audit(written(tmp_path, text=text))
    assert "audit.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(RecordError, match="No such file"):
        read_audit(tmp_path / "none.json")
