"""Sweeps: ids made from parameters, permanent rows, and invalid sweeps."""

import json

import numpy as np
import pytest

from conformance import CatalogueError
from conformance.catalogue import check, loading
from conformance.catalogue.sweeps import Sweep
from tests.support.fake_backends import family

FACTORS = {"rank": [1, 2], "extent": [[5, 4]], "window": [2, [3, 2]], "stride": [1, 2]}
PADDED = {**FACTORS, "padding": [0, 1, [1, 0], [[1, 0], [0, 1]], "same_upper"], "rounding": ["floor", "ceil"]}


def sweep(factors=FACTORS, cover="all", operator="max_pool", **more):
    raw = {"id": "geometry", "cover": cover, "factors": factors, "x": {"values": "integers"}, **more}
    return Sweep.parse(operator, raw)


def text(factors="rank: [1, 2], extent: [[5, 4]], window: [2, [3, 2]], stride: [1, 2]", cover="pairs", **more):
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"id: geometry, cover: {cover}, factors: {{{factors}}}, x: {{values: integers}}{extra}"


def load(folder, *sweeps, operator="max_pool", **keywords):
    (folder / "pooling").mkdir(exist_ok=True)
    path = family(folder / "pooling", *sweeps, operator=operator, section="sweeps")
    return loading.load_catalogue([path], **keywords)


def test_ids_are_made_of_the_parameters_that_are_not_usual():
    names = sweep(PADDED).rows()
    assert "1d-i5-w2-s1" in names
    assert "2d-i5x4-w3x2-s2-p1.0x0.1-ceil" in names
    assert "2d-i5x4-w2-s1-same.upper" in names
    assert "1d-i5-w3-s1-p1.0" in names
    assert len(set(names)) == len(names)


def test_a_level_goes_round_the_axes_and_one_that_is_like_another_there_is_left_out():
    # On one axis [[1, 0], [0, 1]] is [1, 0].
    names = sweep(PADDED).rows()
    assert not any("x" in name for name in names if name.startswith("1d"))
    case = sweep(PADDED).raw_case("2d-i5x4-w3x2-s2-p1.0x0.1-ceil")
    assert case["window"] == [3, 2]
    assert case["stride"] == [2, 2]
    assert case["padding"] == [[1, 0], [0, 1]]
    assert case["x"]["shape"] == [2, 3, 5, 4]


def test_every_name_leads_back_to_its_row():
    some = sweep(PADDED)
    for row in some.cover.valid_rows:
        assert some.row_levels([some.name(row)])[0].tolist() == row.tolist()


def test_impossible_rows_are_left_out():
    factors = {"rank": [1], "extent": [2], "window": [1, 2, 3], "stride": [1], "padding": [0, 1, 2]}
    # A window of one cell in the padding contains no cell of x; one of three needs padding on both sides.
    assert sorted(sweep(factors).rows()) == [
        "1d-i2-w1-s1",
        "1d-i2-w2-s1",
        "1d-i2-w2-s1-p1",
        "1d-i2-w3-s1-p1",
        "1d-i2-w3-s1-p2",
    ]


def test_words_for_padding_round_down():
    names = sweep(PADDED).rows()
    assert not any("same" in name and "ceil" in name for name in names)


def test_each_row_has_numbers_of_its_own_that_its_dtype_holds():
    some = sweep({**FACTORS, "dtype": ["int8", "uint8", "bool"]})
    cases = [some.raw_case(name) for name in some.rows()]
    assert len({case["x"]["seed"] for case in cases}) == len(cases)
    ranges = {case["x"]["dtype"]: (case["x"]["low"], case["x"]["high"]) for case in cases}
    assert ranges == {"int8": (-9, 9), "uint8": (0, 9), "bool": (0, 1)}


def test_a_convolution_gets_kernel_bias_and_groups():
    factors = {"rank": [2], "extent": [4], "window": [[3, 2]], "groups": [2], "bias": [False, True], "out": [1]}
    some = sweep(factors, operator="conv", kernel={"values": "integers"}, bias={"values": "integers"})
    case = some.raw_case("2d-o1-i4-w3x2-g2-bias")
    assert (case["x"]["shape"], case["kernel"]["shape"], case["bias"]["shape"]) == ([2, 6, 4, 4], [2, 3, 3, 2], [2])
    assert case["groups"] == 2
    assert "window" not in case
    assert "bias" not in some.raw_case("2d-o1-i4-w3x2-g2")


def test_rows_that_are_frozen_stay_and_only_what_they_lack_is_added():
    some = sweep(PADDED, cover="pairs")
    before = some.rows()
    grown = sweep({**PADDED, "dilation": [1, 2]}, cover="pairs")
    assert grown.rows(before, extend=False) == before
    after = grown.rows(before)
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert list(grown.missing(after)) == []
    assert "dilation 2" in "; ".join(grown.missing(before))


def test_a_frozen_row_whose_level_is_gone_is_an_error():
    with pytest.raises(ValueError, match="the frozen case 1d-i5-w4-s1 is not a row of this sweep"):
        sweep().rows(["1d-i5-w4-s1"])


@pytest.mark.parametrize("name", ["", "2d", "w2-1d", "1d-i5-w2-s1-s1", "xd-i5-w2-s1"])
def test_what_is_no_name_is_no_row(name):
    with pytest.raises(ValueError, match="not a row of this sweep"):
        sweep().row_levels([name])


def test_the_lock_above_a_file_holds_its_rows(tmp_path):
    first = load(tmp_path, text())
    lock = check.case_digests(first)
    (tmp_path / "lock.json").write_text(json.dumps(lock), "utf-8")
    more = text("rank: [1, 2], extent: [[5, 4]], window: [2, [3, 2]], stride: [1, 2, 3]")
    kept, grown = load(tmp_path, more), load(tmp_path, more, extend=True)
    assert [case.id for case in kept.cases] == [case.id for case in first.cases]
    assert set(lock) < {case.id for case in grown.cases}
    found = [line for line in check.check_problems(kept) if "combinations in no case" in line]
    assert len(found) == 1
    assert "file.yaml:4: sweep geometry: " in found[0]
    assert "stride 3" in found[0]
    assert not [line for line in check.check_problems(grown) if "combinations" in line]


def test_rows_of_a_sweep_are_cases_with_its_level(tmp_path):
    cases = load(tmp_path, text(level="standard")).cases
    assert {case.level for case in cases} == {"standard"}
    assert cases[0].id.startswith("max_pool/geometry/")
    assert all(np.isfinite(case.inputs["x"].make()).all() for case in cases)


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (text("rank: [1], extent: [5], window: [2], groups: [2]"), "key 'factors.groups': max_pool has no such factor"),
        (text("rank: [1], extent: [5], window: [7]"), "key 'factors': no combination of levels is possible"),
        (text("rank: [1], extent: [5]"), "key 'factors.window' is missing"),
        (text("extent: [5], window: [2]"), "'rank'"),
        (text("rank: [4], extent: [5], window: [2]"), "rank"),
        (text("rank: [1], extent: [5], window: []"), "window"),
        (text(cover="some"), "cover"),
        (text("rank: [1], extent: [5], colour: [2]"), "colour"),
        (text().replace("id: geometry", "id: geometry/more"), "key 'id': the id of a sweep must not contain a slash"),
        (text(bias="{values: integers}"), "key 'bias': max_pool has no such input"),
        (text().replace("id: geometry", f"id: {'a' * 99}"), "is longer than 100 characters"),
    ],
)
def test_a_faulty_sweep_is_one_line_with_file_and_key(tmp_path, faulty, message):
    with pytest.raises(CatalogueError) as refused:
        load(tmp_path, faulty)
    assert message in str(refused.value)
    assert "file.yaml:4: " in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_product_beyond_the_limit_is_rejected():
    many = {name: list(range(1, 31)) for name in ("extent", "window", "stride", "channels", "batch")}
    with pytest.raises(ValueError, match="exceed the limit of 200000"):
        sweep({"rank": [1], **many})


def test_a_bias_needs_its_values():
    factors = {"rank": [2], "extent": [4], "window": [2], "bias": [False, True]}
    with pytest.raises(ValueError, match="key 'bias' is missing"):
        sweep(factors, operator="conv", kernel={"values": "integers"})


def test_a_kernel_needs_its_window():
    with pytest.raises(ValueError, match=r"key 'factors.window' is missing"):
        sweep({"rank": [1], "extent": [4]}, operator="conv", kernel={"values": "integers"})


def test_padding_words_are_no_pads(tmp_path):
    words = "id: a, cover: all, factors: {rank: [1], extent: [4], pads: [same_upper]}, x: {values: integers}"
    with pytest.raises(CatalogueError, match=r"file.yaml:4: .*pads"):
        load(tmp_path, words, operator="pad")


def test_what_would_be_taken_for_a_row_is_rejected(tmp_path):
    with pytest.raises(CatalogueError, match="another sweep of the operator has the same id"):
        load(tmp_path, text(), text("rank: [2], extent: [3], window: [1]"))
    path = family(tmp_path, text(), section="sweeps")
    x = "x: {values: arange, shape: [1, 1, 4]}, window: 2"
    path.write_text(path.read_text("utf-8") + f"cases:\n  - {{id: geometry/extra, {x}}}\n", "utf-8")
    with pytest.raises(CatalogueError, match=r"case max_pool/geometry/extra: max_pool/geometry is a sweep"):
        loading.load_catalogue([path])


@pytest.mark.parametrize("garbage", ["[1]", "5", "null", '"text"', '{"a": 1}'])
def test_a_lock_that_is_none_is_one_line(tmp_path, garbage):
    (tmp_path / "lock.json").write_text(garbage, "utf-8")
    with pytest.raises(CatalogueError, match="not a lock") as refused:
        load(tmp_path, text())
    assert "\n" not in str(refused.value)


def test_a_frozen_name_of_an_absurd_rank_is_rejected_at_once():
    with pytest.raises(ValueError, match="not a row of this sweep"):
        sweep().row_levels(["99999999d-i5-w2-s1"])


def test_a_dilation_of_windows_of_one_cell_covers_nothing():
    factors = {"rank": [1, 2], "extent": [6], "window": [1, [3, 1]], "dilation": [1, 2, [1, 2]], "stride": [1, 2]}
    rows = sweep(factors, cover="pairs").rows()
    assert rows
    assert not [name for name in rows if "-w1-" in name and "-d" in name]
    assert [name for name in rows if "-w3x1-" in name and "-d2" in name]
    assert [name for name in sweep(factors, cover="all").rows() if "-w1-" in name and "-d2" in name]


@pytest.mark.parametrize(("operator", "missing"), [("max_unpool", "output_size"), ("pad", "pads")])
def test_a_sweep_without_a_needed_factor_is_rejected(operator, missing):
    raw = {"id": "a", "cover": "pairs", "factors": {"rank": [1], "extent": [4]}, "x": {"values": "integers"}}
    raw |= {"indices": {"values": "distinct"}} if operator == "max_unpool" else {}
    with pytest.raises(ValueError, match=f"key 'factors.{missing}' is missing"):
        Sweep.parse(operator, raw)


GRIDS = {"rank": [1], "batch": [3], "grid_size": [[2, 3], [1, 2, 4]], "align_corners": [False]}


def grids(**factors):
    raw = {"id": "a", "cover": "all", "factors": {**GRIDS, **factors}, "x": {"values": "integers"}}
    return Sweep.parse("affine_grid", raw)


def test_the_shape_of_matrices_follows_from_the_grid():
    some = grids()
    shapes = {name: some.raw_case(name)["x"]["shape"] for name in some.rows()}
    assert shapes == {"1d-n3-to2x3": [3, 2, 3], "1d-n3-to1x2x4": [3, 3, 4]}


def test_axes_of_one_cell_are_not_aligned():
    assert grids(align_corners=[True]).rows() == ["1d-n3-to2x3-align"]


def test_a_sweep_of_grids_has_no_extents():
    with pytest.raises(ValueError, match="affine_grid has no such factor"):
        grids(extent=[3])
    with pytest.raises(ValueError, match="no combination of levels is possible"):
        grids(grid_size=[[2, 3, 4, 5]]).rows()
