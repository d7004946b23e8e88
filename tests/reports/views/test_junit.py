"""JUnit XML: valid against the schema of CI servers, with the same statuses as pytest."""

from collections import Counter
from xml.etree import ElementTree

import pytest
import xmlschema

from reports.results import load_report
from reports.views.junit import RUN_SUITE_NAME, render_junit
from tests import ROOT
from tests.support import example_results as example

SCHEMA = xmlschema.XMLSchema(ROOT / "tests" / "support" / "schemas" / "junit-10.xsd")
STRANGE = "\x00\x1b[31m\ud800\ufffe]]><a b='\"'>\n\u2028 two"


def made(tmp_path, *runs):
    paths = example.write(tmp_path, *runs)
    text = render_junit(load_report(paths))
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    SCHEMA.validate(root)
    return root


def status_of(test):
    """Return the status of a test case: passed, or the tag of its child element."""
    return test[0].tag if len(test) else "passed"


def test_one_suite_per_surface_in_the_order_of_the_adapter(tmp_path):
    suites = made(tmp_path, example.alpha(), example.beta()).findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        "alpha.nn", "alpha.nn.functional", "beta.keras.layers", "beta.book",
    ]  # fmt: skip
    for suite in suites:
        assert {test.get("classname") for test in suite.iter("testcase")} == {suite.get("name")}


def test_statuses_are_those_of_pytest(tmp_path):
    root = made(tmp_path, example.beta())
    tests = {(test.get("classname"), test.get("name")): test for test in root.iter("testcase")}
    found = {}
    for record in example.beta():
        if record["record"] == "result":
            test = tests.pop((record["surface"], record["case"]))
            found.setdefault(record["status"], set()).add((status_of(test), test[0].get("type") if len(test) else None))
    assert not tests
    assert found == {
        "pass": {("passed", None)},
        "known": {("skipped", "pytest.xfail")},
        "unsupported": {("skipped", "pytest.skip")},
        **{one: {("failure", one)} for one in ("fail", "crashed", "timed_out", "flaky", "stale")},
    }


def test_totals_match_the_test_cases(tmp_path):
    root = made(tmp_path, example.alpha(), example.beta(), example.gamma())
    words = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    for suite in root.findall("testsuite"):
        counted = Counter(map(status_of, suite.iter("testcase")))
        assert int(suite.get("tests")) == counted.total()
        assert {key: int(suite.get(key)) for key in words} == {key: counted[word] for key, word in words.items()}
    assert int(root.get("failures")) == len(root.findall(".//failure")) == 9
    assert int(root.get("tests")) == len(root.findall(".//testcase"))


def test_failure_contains_the_difference_the_program_and_the_command(tmp_path):
    failure = made(tmp_path, example.beta()).find(".//failure")
    assert failure.get("message") == "fail: value: at [0, 0, 1, 1] expected 15, got 14"
    assert "Padding is never the largest value." in failure.text
    assert "    return pool(x, window=(3, 3), stride=(2, 2), padding=1)" in failure.text
    command = "to reproduce: conformance repro max_pool/stride-2-padding-1 --surface beta.keras.layers"
    assert failure.text.endswith(command)


def test_failure_contains_the_mode_of_the_process(tmp_path):
    records = [one | {"mode": "k.use_64_bits()"} if one["record"] == "program" else one for one in example.beta()]
    assert "k.use_64_bits()\n\ndef run(" in made(tmp_path, records).find(".//failure").text


def test_known_difference_is_skipped_with_its_reason_and_issue(tmp_path):
    skipped = made(tmp_path, example.beta()).find(".//skipped[@type='pytest.xfail']")
    assert skipped.get("message").endswith("win over negative values. (https://example.org/issues/1)")


@pytest.mark.parametrize(("run", "message"), [(example.gamma, "partial run"), (example.delta, "nothing ran")])
def test_incomplete_run_is_an_error_in_each_of_its_suites(tmp_path, run, message):
    root = made(tmp_path, example.alpha(), run())
    for suite in root.findall("testsuite"):
        errors = [test for test in suite.iter("testcase") if status_of(test) == "error"]
        assert bool(errors) == (suite.get("package") != "alpha")
        assert all(test.get("name") == RUN_SUITE_NAME and message in test[0].get("message") for test in errors)


def test_surface_without_results_has_a_suite(tmp_path):
    root = made(tmp_path, example.run("n", ["n.a", "n.b"], example.all_pass("n.a")))
    assert [suite.get("tests") for suite in root] == ["9", "0"]


def test_label_is_in_the_suite_and_not_in_the_command(tmp_path):
    failed = [example.died("conv/edge-detector", "n.a", "crashed", "signal 6")]
    root = made(tmp_path, example.run("n@old", ["n.a"], failed))
    assert root[0].get("name") == "n.a@old"
    assert root.find(".//failure").text.endswith("--surface n.a")


def test_framework_messages_are_escaped(tmp_path):
    path = tmp_path / "n.jsonl"
    records = example.beta(example.HOSTILE)
    path.write_text(example.text(records).replace("no asymmetric padding", "@"), encoding="utf-8")
    died = [example.died("conv/edge-detector", "n.a", "crashed", STRANGE)]
    strange = [{**one, "about": STRANGE} if one["record"] == "case" else one for one in example.run("n", ["n.a"], died)]
    other = tmp_path / "o.jsonl"
    other.write_text("".join(example.json.dumps(one) + "\n" for one in strange), "utf-8")
    text = render_junit(load_report([path, other]))
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    SCHEMA.validate(root)
    texts = [failure.text for failure in root.iter("failure")]
    assert any("<img src=x onerror=" in one for one in texts)
    assert any("\\x00\\x1b[31m\\ud800\\ufffe]]><a b='\"'>" in one for one in texts)
    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_same_results_give_the_same_bytes(tmp_path):
    paths = example.write(tmp_path, example.alpha(), example.beta(), example.gamma())
    assert render_junit(load_report(paths)) == render_junit(load_report(paths[::-1]))


def test_schema_rejects_other_xml(tmp_path):
    root = made(tmp_path, example.beta())
    del root[0].attrib["failures"]
    assert not SCHEMA.is_valid(root)
    root = made(tmp_path, example.beta())
    ElementTree.SubElement(root[0][1], "passed")
    assert not SCHEMA.is_valid(root)


def test_slow_result_passes_and_contains_its_message(tmp_path):
    root = made(tmp_path, example.run("alpha", ["alpha.nn"], example.slow_results("alpha.nn")))
    (output,) = root.iter("system-out")
    assert output.text == f"slow: {example.SLOW_MESSAGE}"
    assert (root.get("failures"), root.find("testsuite").get("skipped")) == ("0", "0")


def test_undeclared_answer_is_skipped_with_the_answer(tmp_path):
    records = example.undeclared("avg_pool/divisor-at-the-border", "alpha.nn")
    root = made(tmp_path, example.run("alpha", ["alpha.nn"], records))
    (skipped,) = root.iter("skipped")
    assert skipped.attrib == {
        "type": "pytest.skip",
        "message": "undeclared: answered 'real-cells'; the surface declares no answer",
    }


def test_outcome_after_other_programs_is_in_the_output_of_the_test_case(tmp_path):
    lines = [{**one, "after_others": "returned 1"} if one["record"] == "result" else one for one in example.beta()]
    tests = list(made(tmp_path, lines).iter("testcase"))
    assert {test.findtext("system-out") for test in tests} == {"after other programs: returned 1"}
    assert {one.tag for test in tests for one in test} == {"system-out", "skipped", "failure"}
