"""`conformance translate` with parameters and with layers: output, remarks and errors."""

import json
import re
import shlex
from pathlib import Path

import pytest

from conformance import cli
from conformance.adapters.api import Program
from conformance.cases.case import ArrayUse, Value
from conformance.cases.operators import FORWARD_OPERATORS, OPERATORS
from conformance.catalogue import describe, loading as catalogues
from conformance.cli.parameter_types import PaddingType, ShapeType, SizesType
from conformance.judging import ledger
from conformance.translation import verified
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from conformance.translation.option_text import option_text
from tests.support.example_results import alpha, delta, gamma, write

PLAIN = "max_pool --window 3 --stride 2 --padding 1"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch, catalogue):
    """Run every command in its own temporary folder, and read the suite's catalogue only once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogues, "load_catalogue", lambda *_, **__: catalogue)


@pytest.fixture
def translated(capsys):
    """Return a function that runs the command with a line of arguments: (status, output, errors)."""

    def command(line, *further, command="translate"):
        with pytest.raises(SystemExit) as left:
            cli.main([command, *shlex.split(line), *further])
        out, error = capsys.readouterr()
        assert "Traceback" not in out + error
        return left.value.code or 0, out, error

    return command


def programs(translated, line):
    """Return the JSON output for a line of arguments."""
    status, out, error = translated(f"{line} --format json")
    assert (status, error) == (0, "")
    return json.loads(out)


def test_parameters_on_the_command_line_define_a_case(translated):
    status, out, _ = translated(f"{PLAIN} --rank 2")
    assert status == 0
    assert out.startswith(
        "# max_pool, window 3 x 3, stride 2 x 2, padding 1 x 1, dilation 1 x 1, rounding floor; for x "
    )
    assert "default shape, change it with --shape" in " ".join(out.replace("#", "").split())
    assert "    x = nn.MaxPool2d(3, stride=2, padding=1)(x)\n" in out
    assert "    x = nn.max_pool(x, (3, 3), strides=(2, 2), padding=((1, 1), (1, 1)))\n" in out


@pytest.mark.parametrize(
    ("line", "surface", "says"),
    [
        ("max_pool --window 3,2 --stride 2", "torch.nn", "nn.MaxPool2d((3, 2), stride=2)(x)"),
        ("max_pool --window 3,2,2 --stride 2", "torch.nn", "nn.MaxPool3d((3, 2, 2), stride=2)(x)"),
        ("max_pool --window 3 --rank 1", "torch.nn", "nn.MaxPool1d(3)(x)"),
        ("max_pool --window 3 --shape 2,3,9", "torch.nn", "nn.MaxPool1d(3)(x)"),
        ("max_pool --window 3 --stride 1 --padding same_upper", "tf.nn", 'tf.nn.max_pool2d(x, 3, 1, "SAME")'),
        ("avg_pool --window 3 --padding 1 --count-include-pad", "torch.nn", "nn.AvgPool2d(3, padding=1)(x)"),
        ("avg_pool --window 3 --padding 1", "torch.nn", "nn.AvgPool2d(3, padding=1, count_include_pad=False)(x)"),
        ("avg_pool --window 3 --divisor 5", "torch.nn", "nn.AvgPool2d(3, divisor_override=5)(x)"),
        ("avg_pool --window 3 --stride 2 --rounding ceil", "torch.nn", "nn.AvgPool2d(3, stride=2, ceil_mode=True)(x)"),
        ("lp_pool --window 3 --p 4", "torch.nn", "nn.LPPool2d(4, 3)(x)"),
        ("adaptive_avg_pool --output-size 3,2", "torch.nn", "nn.AdaptiveAvgPool2d((3, 2))(x)"),
        ("pad --pads 1:0,2:2", "torch.nn.functional", "F.pad(x, (2, 2, 1, 0))"),
        ("pad --pads 1 --mode reflect", "torch.nn.functional", 'F.pad(x, (1, 1, 1, 1), mode="reflect")'),
        ("pad --pads 1 --value -inf", "torch.nn.functional", "F.pad(x, (1, 1, 1, 1), value=-np.inf)"),
        ("pad --pads -1:0,0", "torch.nn.functional", "F.pad(x, (0, 0, -1, 0))"),
        ("conv --window 3 --bias --groups 2", "torch.nn", "nn.Conv2d(4, 4, 3, groups=2, dtype=x.dtype)"),
        ("conv --window 3 --channels 3 --out-channels 8", "torch.nn", "nn.Conv2d(3, 8, 3, bias=False, dtype=x.dtype)"),
        ("conv --kernel-shape 6,2,5,3 --groups 2", "torch.nn", "nn.Conv2d(4, 6, (5, 3), groups=2, bias=False, "),
        ("conv_transpose --window 3 --stride 2 --output-padding 1", "torch.nn", "output_padding=1"),
        ("max_pool_with_indices --window 3 --output indices", "torch.nn", "nn.MaxPool2d(3, return_indices=True)(x)[1]"),
        (f"{PLAIN} --gradient", "torch.nn", "torch.autograd.grad(x, leaf, grad)"),
        ("max_pool_grad --window 3", "torch.nn", "torch.autograd.grad(x, leaf, grad)"),
        ("conv --window 3 --gradient kernel", "torch.nn", "torch.autograd.grad(x, conv.weight, grad)"),
        ("deform_conv --window 3", "paddle.nn.functional", "paddle.vision.ops.deform_conv2d(x, offset, kernel)"),
        ("deform_conv --window 3 --mask", "paddle.nn.functional", "deform_conv2d(x, offset, kernel, mask=mask)"),
        ("deform_conv --window 3 --gradient mask", "paddle.nn.functional", "[image, offset, kernel, mask], grad)[3]"),
        ("conv --window 3 --gradient bias", "torch.nn", "torch.autograd.grad(x, conv.bias, grad)"),
        ("max_pool --window 3 --dtype bfloat16", "torch.nn", "torch.from_numpy(x).view(torch.bfloat16)"),
    ],
)
def test_every_parameter_has_an_option(translated, line, surface, says):
    assert says in programs(translated, f"{line} --surface {surface}")["surfaces"][surface]["program"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("max_pol --window 3", "'max_pol': no such case or operator, did you mean 'max_pool'?"),
        ("max_pol/a", "'max_pol/a': no such case or operator, did you mean 'max_pool'?"),
        (
            "max_pool --window 99999999999",
            "max_pool: --window 99999999999 on axis 0 must be at most 2147483647",
        ),
        ("max_pool/book-loop", "case 'max_pool/book-loop': not in the catalogue, did you mean 'max_pool/book-loops'?"),
        ("max_pool/book-loops --window 3", "--window: only for an operator"),
        ("max_pool", "max_pool needs --window"),
        ("max_pool --window 0", "max_pool: --window 0 on axis 0 must be at least 1"),
        ("max_pool --window 3 --stride 0", "max_pool: --stride 0 on axis 0 must be at least 1"),
        ("max_pool --window 3,3,3 --stride 2,2", "--stride (2, 2) has 2 entries: expected 3"),
        (
            "max_pool --window 9999999",
            "max_pool: --window 9999999 exceeds the padded input 8 on axis 0",
        ),
        ("max_pool --window 3,x", "Invalid value for '--window': '3,x' is not an integer"),
        ("max_pool --window 3 --padding same", "Invalid value for '--padding': 'same' is not"),
        ("max_pool --window 3 --padding 1:2:3", "Invalid value for '--padding': '1:2:3' is not an integer or"),
        ("max_pool --window 30 --shape 1,1,8,8", "max_pool: --window 30 exceeds the padded input 8 on axis 0"),
        ("max_pool --window 3 --p 2", "max_pool: --p: max_pool has no such parameter; known parameters: dilation"),
        ("max_pool --window 3 --shape 1,1", "--shape: [1, 1] is not (n, c, *spatial)"),
        ("max_pool --window 3 --shape 1,1,9 --rank 2", "--rank 2: --shape 1,1,9 has 1 spatial axes"),
        ("max_pool --window 3 --dtype float31", "--dtype: 'float31' is not a dtype, did you mean 'float32'?"),
        ("max_pool --window 3 --bias", "max_pool: --bias: the operator has no weights"),
        ("conv --window 3 --mask", "conv: --mask: the operator has no mask"),
        ("max_pool --window 3 --kernel-shape 1,1,3,3", "max_pool: --kernel-shape: the operator has no weights"),
        ("dilation2d --window 3 --bias", "dilation2d: --bias: the operator has a kernel only"),
        ("dilation2d --window 3 --out-channels 4", "dilation2d: --out-channels: the operator has a kernel only"),
        ("dilation2d --kernel-shape 3,2,3,3", "dilation2d: The number of input channels of the kernel differs from"),
        ("max_pool --window 3 --gradient kernel", "--gradient kernel: gradients exist for x only"),
        ("max_pool --window 3 --surface torch.m", "surface 'torch.m': unknown, did you mean 'torch', 'torch.nn', "),
        ("max_pool --window 3 --shape 1,1,99999,99999", "has more than the limit of 20000000 elements"),
        ("conv", "conv needs --window or --kernel-shape"),
        (
            "conv --window 3 --groups 3 --channels 4",
            "conv: The number of groups does not divide the number of input channels. (Gro",
        ),
        ("conv --window 3 --groups 0", "conv: --groups: 0 is not a whole number from 1 to"),
        (
            "conv_transpose --window 3 --padding=-1:0",
            "conv_transpose: --padding ((-1, 0),) must be at least 0; to add cells, use output_",
        ),
        ("conv_transpose --window 3 --padding 60", "conv_transpose: The padding of a transposed convolution crops"),
        ("avg_pool --window 3 --divisor 0", "avg_pool: "),
        ("pad", "pad needs --pads"),
        (
            "pad --pads -9",
            "pad: Negative pads, or negative padding of windows, crop more cells than some axis has. (Crop",
        ),
        ("'nn.MaxPool2d(3)'", "a layer needs --from, one of "),
        ("'nn.MaxPool2d(3)' --from torhc", "--from torhc: unknown, did you mean 'torch'? known frameworks are flax, "),
        (
            "'nn.MaxPool2d(3)' --from nn",
            "--from nn: a module of several frameworks, name one of flax, mxnet, paddle, tf, torch",
        ),
        (
            "'nn.MaxPool2d(3)' --from torch.nn --stride 2",
            "--stride cannot be combined with --from: the layer specifies it",
        ),
        ("'nn.MaxPool2d(0)' --from torch.nn", "max_pool: --window 0 on axis 0 must be at least 1"),
        ("'nn.MaxPool2d(open(0))' --from torch.nn", "column 14: Call is neither a number"),
        ("'layers.MaxPool2D(2, padding=\"same\")' --from tf.keras.layers", "add --shape"),
        ("'F.conv2d(x, w)' --from torch.nn.functional", "conv needs --window or --kernel-shape"),
        (f"{PLAIN} --verified nowhere.json", "nowhere.json: No such file"),
    ],
)
def test_invalid_requests_are_errors_of_one_line(translated, line, says):
    status, out, error = translated(line)
    assert (status, out) == (2, "")
    assert len(error.splitlines()) == 1
    assert says in error


def test_layer_is_parsed_and_its_defaults_are_listed_first(translated):
    _, out, _ = translated("", "--from", "torch.nn", "nn.AvgPool2d(3, padding=1)", "--surface", "torch.nn")
    first = " ".join(out.split("\n\n")[0].replace("#", "").split())
    assert first.startswith("avg_pool, window 3 x 3, stride 3 x 3, padding 1 x 1, ")
    assert "padding counts" in first
    assert "meaning of nn.AvgPool2d(3, padding=1) in torch.nn" in first
    assert "defaults of the layer: stride 3 x 3, rounding floor, count include pad true" in first
    assert "nn.AvgPool2d(3, padding=1)(x)" in out


def test_layer_with_same_padding_is_parsed_for_the_given_shape(translated):
    text = 'keras.layers.MaxPooling2D(3, strides=2, padding="same")'
    _, out, _ = translated("--shape 1,2,8,8 --surface torch.nn.functional --from tf.keras.layers", text)
    assert "padding (0, 1) x (0, 1)" in out
    assert "x = F.pad(x, (0, 1, 0, 1), value=-np.inf)" in out


@pytest.mark.parametrize(("said", "status"), [("keras.layers", 0), ("torch.nn", 0), ("F", 2), ("nn", 2)])
def test_from_accepts_an_imported_name_of_a_single_dialect(translated, said, status):
    text = {"keras.layers": "keras.layers.MaxPool2D(2)", "F": "F.max_pool2d(x, 2)"}.get(said, "nn.MaxPool2d(2)")
    assert translated("", "--from", said, text)[0] == status


def test_surfaces_of_books_are_omitted_unless_named(translated):
    asked = f"{PLAIN} --format json"
    assert "tinygrad.Tensor" in json.loads(translated(asked)[1])["surfaces"]
    assert not [name for name in json.loads(translated(asked)[1])["surfaces"] if name.endswith(".book")]
    assert list(json.loads(translated(f"{asked} --surface '*.book' --surface tf.nn")[1])["surfaces"]) == [
        *(name for name in describe.surfaces_by_name() if name.endswith(".book") or name == "tf.nn")
    ]


def test_remarks_describe_differences_and_why_a_program_has_several_calls(translated):
    said = programs(translated, PLAIN)["surfaces"]
    assert said["tf.nn"]["layout"].startswith("takes data (n, *spatial, c); ")
    assert said["torch.nn"]["layout"] == ""
    assert "stride when none is given: window" in said["torch.nn"]["answers"]
    assert any(answer.startswith("stride when none is given: one") for answer in said["flax.linen"]["answers"])
    assert said["tf.keras.layers"]["remarks"][0].startswith(
        "padded, because the native call does not support the case: "
    )
    average = programs(translated, "avg_pool --window 3 --padding 1")["surfaces"]
    assert any(answer.startswith("divisor at the border: ") for answer in average["torch.nn"]["answers"])
    unpadded = programs(translated, "avg_pool --window 3")["surfaces"]
    assert not any(answer.startswith("divisor at the border") for answer in unpadded["torch.nn"]["answers"])


def test_only_programs_that_depend_on_the_input_size_have_a_remark_about_it(translated):
    said = programs(translated, "avg_pool --window 3 --stride 1 --padding same_upper")["surfaces"]
    for surface in ("jax.lax", "flax.linen", "tf.nn"):
        assert not any("the program depends on" in remark for remark in said[surface]["remarks"])
    said = programs(translated, "avg_pool --window 3 --stride 2 --padding same_upper")["surfaces"]
    for surface in ("jax.lax", "flax.linen"):
        assert any("the program depends on the spatial size" in remark for remark in said[surface]["remarks"])


def test_known_deviation_of_the_case_is_a_warning(translated):
    known = next(entry for entry in ledger.load_ledger().entries if entry.id == "mxnet-pad-drops-the-value")
    said = programs(translated, "pad --pads 1 --value 7")["surfaces"]
    assert said["mxnet.npx"]["warnings"] == [f"known deviation {known.id}: {' '.join(known.reason.split())}"]
    assert not said["torch.nn"]["warnings"]
    assert not programs(translated, "pad --pads 1")["surfaces"]["mxnet.npx"]["warnings"]


def test_markdown_has_a_section_for_each_program(translated):
    _, out, _ = translated(f"{PLAIN} --format markdown --surface tf.nn --surface 'tf.k*' --surface tf.book")
    assert out.startswith("# max_pool\n\nMax\\_pool, window 3 x 3, ")
    assert "\n## tf.nn: native\n" in out
    assert out.count("```python\n") == out.count("\n```\n") == 2
    assert "\n## Unsupported\n\n- tf.book: " in out


def test_json_has_the_request_in_the_form_of_the_catalogue(translated):
    said = programs(translated, f"{PLAIN} --shape 1,1,9,9 --surface torch.nn")
    assert (said["operator"], said["shape_chosen"], said["inputs"]["x"]["shape"]) == ("max_pool", False, [1, 1, 9, 9])
    assert said["parameters"]["padding"] == [[1, 1], [1, 1]]
    assert set(said["surfaces"]["torch.nn"]) == {
        "how", "program", "digest", "verified", "warnings", "layout", "remarks", "answers",
    }  # fmt: skip


def test_every_case_of_the_catalogue_can_be_requested(catalogue):
    asked = 0
    for case in [*catalogue.select("smoke"), *catalogue.cases[::37]]:
        request = CaseRequest.from_case(case)
        # A request has no values. Those of a batch that is expanded must be equal.
        if request is None or 0 in case.shape or case.parameters.get("arrays") == ArrayUse.EXPANDED:
            continue
        again = request.case()
        assert again.parameters == case.parameters, case.id
        assert {name: spec.shape for name, spec in again.inputs.items()} == {
            name: spec.shape for name, spec in case.inputs.items()
        }, case.id
        asked += isinstance(case.expect, Value)
    assert asked > 200


@pytest.mark.parametrize("operator", FORWARD_OPERATORS)
def test_other_sizes_have_the_same_parameters(catalogue, operator):
    case = next(case for case in catalogue.cases if case.operator == operator and CaseRequest.from_case(case))
    words = [
        word
        for word, other in CaseRequest.from_case(case).other_sizes()
        if other.parameters == CaseRequest.from_case(case).parameters
    ]
    # The extents of x are the numbers of windows of fold, which follow from the output size.
    expected = {"the batch"} if operator == "fold" else {"the batch", "the spatial size"}
    assert expected <= set(words)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SizesType(), "3", 3),
        (SizesType(), "3,2", (3, 2)),
        (SizesType(), "-1", -1),
        (ShapeType(), "3", (3,)),
        (PaddingType(), "1,0", (1, 0)),
        (PaddingType(), "1:0", ((1, 0),)),
        (PaddingType(), "1:0,2:2", ((1, 0), (2, 2))),
        (PaddingType(), "1:0,2", ((1, 0), (2, 2))),
        (PaddingType(), "same_lower", "same_lower"),
    ],
)
def test_sizes_are_written_with_commas_and_pairs_with_colons(kind, text, value):
    assert kind.convert(text, None, None) == value
    assert kind.convert(option_text(value), None, None) == value


def count(**words):
    """Return the counter of results, each (status, how, dtype, rank, entry)."""
    one = verified.OperatorCounter()
    for result in words["results"]:
        one.add(*result, call="window 3, stride 2, padding 1")
    return one


RESULTS = [
    ("pass", "native", "float32", 2, ""),
    ("pass", "padded", "float64", 1, ""),
    ("known", "native", "float32", 2, "an-entry"),
    ("unsupported", "", "float32", 2, ""),
    ("fail", "native", "float32", 2, ""),
]


def summary(*results):
    counted = {"max_pool": count(results=results)}
    return verified.summarise([("a.b", "a", "standard", {"a": "1.2+cpu", "numpy": "2"}, counted)])


def test_summary_counts_all_results_except_unsupported_ones():
    tried = summary(*RESULTS).operator_summary("a.b", "max_pool")
    assert (tried.agree, tried.dtypes, tried.ranks) == ({"native": 1, "padded": 1}, ("float32", "float64"), (1, 2))
    assert (tried.known, tried.otherwise, tried.cases) == ({"an-entry": 1}, {"fail": 1}, 2)


def test_summary_can_be_parsed():
    text = verified.summary_text(summary(*RESULTS))
    assert verified.parse_summary(text, "here") == summary(*RESULTS)
    assert verified.summary_text(verified.parse_summary(text, "here")) == text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "surfaces": {"a": 1}}'])
def test_invalid_summary_is_an_error(text):
    with pytest.raises(verified.ConformanceError, match=r"^here: "):
        verified.parse_summary(text, "here")


def test_first_count_is_that_of_the_parameters(translated, tmp_path):
    counted = {"max_pool": count(results=RESULTS[:2])}
    path = tmp_path / "counts.json"
    path.write_text(
        verified.summary_text(verified.summarise([("torch.nn", "torch", "standard", {"torch": "2.13.0"}, counted)]))
    )
    lines = ("--window 3 --stride 2 --padding 1", "--rank 3 --window 3 --stride 2 --padding 1", "--window 2")
    found = [programs(translated, f"max_pool {line} --surface torch.nn --verified {path}") for line in lines]
    sentences = [one["surfaces"]["torch.nn"]["verified"] for one in found]
    every = "2 cases of max_pool agree, 1 of them native"
    agreeing = f"verified: torch 2.13.0, 2 cases with window 3, stride 2, padding 1 agree; {every}"
    assert sentences[0] == agreeing
    assert sentences[1] == f"{agreeing}; none with 3 spatial axes"
    assert (
        sentences[2]
        == f"not verified with window 2, stride 2, padding 0; with other parameters, on torch 2.13.0: {every}"
    )


@pytest.mark.parametrize(
    ("line", "surface", "known", "possible"),
    [
        ("max_pool --window 3 --stride 2 --padding 1", "torch.nn", [], []),
        # Written zeros win over negative numbers. These calls write none.
        ("max_pool --window 3 --stride 2 --padding 1", "flax.linen", [], ["xla-flushes-subnormals"]),
        ("max_pool --window 3 --stride 2 --padding 1 --dtype int8", "flax.linen", [], []),
        ("avg_pool --window 3 --padding 1 --dtype float16", "flax.linen", ["flax-average-leaves-float16"], []),
        ("avg_pool --window 3 --padding 1", "flax.linen", [], []),
        ("avg_pool --window 3 --padding 1 --count-include-pad --dtype float16", "flax.linen", [], []),
    ],
)
def test_only_deviations_that_can_reach_the_call_are_listed(translated, line, surface, known, possible):
    one = programs(translated, f"{line} --surface {surface}")["surfaces"][surface]
    assert [warning.split(":")[0].split()[-1] for warning in one["warnings"]] == known
    assert ids_after(one["verified"], "for some inputs: ") == possible
    assert ids_after(one["verified"], "known deviation: ") == known


def ids_after(sentence, start):
    return sentence.partition(start)[2].partition(";")[0].split(", ") if start in sentence else []


def test_shipped_summary_has_known_surfaces_operators_and_entries():
    shipped, entries = verified.shipped_summary(), {entry.id for entry in ledger.load_ledger().entries}
    assert shipped.surfaces.keys() <= describe.surfaces_by_name().keys()
    assert "torch.nn" in shipped.surfaces
    for name, surface in shipped.surfaces.items():
        assert describe.surfaces_by_name()[name][0].name == surface.backend
        assert surface.operators.keys() <= OPERATORS.keys()
        assert {entry for tried in surface.operators.values() for entry in tried.known} <= entries
    assert verified.VERIFIED_PATH.read_text("utf-8") == verified.summary_text(shipped)


def test_translate_prints_counts_of_a_given_summary(translated, tmp_path):
    results = write(tmp_path, alpha(), delta())
    status, out, error = translated("--out said.json", *map(str, results), command="verified")
    assert (status, out, error) == (0, "", "")
    said = verified.parse_summary(Path("said.json").read_text("utf-8"), "said.json")
    assert said.surfaces["alpha.nn"].version == "alpha 2.1.0"
    assert sum(tried.cases for tried in said.surfaces["alpha.nn"].operators.values()) > 0
    quoted = json.loads(translated(f"{PLAIN} --format json --verified said.json")[1])["surfaces"]
    assert {one["verified"] for one in quoted.values() if one["how"]} == {"not verified: in no recorded run"}
    assert translated("", *map(str, results), command="verified")[1] == Path("said.json").read_text("utf-8")


def test_incomplete_run_is_not_summarized(translated, tmp_path):
    status, _, error = translated("", *map(str, write(tmp_path, gamma())), command="verified")
    assert (status, error) == (
        2,
        "conformance: gamma: the run is incomplete, `conformance run --resume` completes it\n",
    )


def test_translations_of_a_case_are_its_programs(translated, catalogue):
    said = programs(translated, "max_pool/book-stride-2-padding-1")["surfaces"]
    for name, (_, surface) in describe.surfaces_by_name().items():
        program = translate(catalogue.by_id["max_pool/book-stride-2-padding-1"], surface)
        if name in said and isinstance(program, Program):
            assert program.text in said[name]["program"]


CASE = "max_pool/book-loops"


def test_translate_prints_a_program_for_every_primary_surface(conformance):
    _, out, _ = conformance("translate", CASE)
    primary = {surface.name for _, surface in describe.primary_surfaces()}
    headings = re.findall(r"^\n# (\S+(?:, \S+)*): (?:native|padded|composed|unsupported)", out, re.MULTILINE)
    names = [name for heading in headings for name in heading.split(", ")]
    assert sorted(names) == sorted(primary)
    others = {"torch.book", "torch.compile", "jax.jit"}
    assert {"torch.nn", "onnxruntime", "tinygrad.Tensor"} <= primary - others == primary


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("resize --size 4 --mode linear", "size 4 x 4, mode linear, coordinates half_pixel; for"),
        ("resize --size 4 --mode linear --antialias", "coordinates half_pixel, antialias true; for"),
        ("resize --size 4 --mode cubic", "mode cubic, coordinates half_pixel, cubic a -0.75; for"),
        ("pad --pads 1 --mode reflect", "pads 1 x 1, mode reflect; for"),
        ("pad --pads 1 --value 2", "pads 1 x 1, mode constant, value 2; for"),
    ],
)
def test_the_heading_has_the_parameters_with_an_effect_in_the_mode(translated, line, expected):
    status, out, _ = translated(f"{line} --to numpy.loops")
    assert status == 0
    assert expected in out.splitlines()[0]


def test_conventions_of_resizing_are_those_of_its_mode(translated):
    nearest, linear = (
        translated(f"resize --size 16 --mode {mode} --nearest-rounding round_prefer_ceil --to keras-jax.ops")[1]
        for mode in ("nearest", "linear")
    )
    assert "nearest by default" in nearest
    assert "nearest by default" not in linear
