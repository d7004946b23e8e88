"""Sorting of the list of results: by column, with the keyboard, and in the URL."""

import pytest

from reports.results.vocabulary import Status
from tests.support.browser_pages import expect, wait_for_address, wait_for_status

STATUSES = [status.replace("_", " ") for status in Status]  # worst first
COLUMNS = {"status": 0, "surface": 1, "how": 2, "share": 3}


def column(page, name):
    """Return the texts of a column. The case is the header of its row."""
    if name == "case":
        return page.locator(".list tbody th").all_inner_texts()
    return page.locator(f".list tbody td:nth-of-type({COLUMNS[name] + 1})").all_inner_texts()


def head(page, name):
    return page.get_by_role("columnheader", name=name)


def test_list_is_sorted_worst_first_by_default(opened):
    page = opened("#/results")
    ranks = [STATUSES.index(text.split(maxsplit=1)[1]) for text in column(page, "status")]
    assert ranks == sorted(ranks)
    expect(page.locator("[aria-sort]")).to_have_count(0)


def test_keyboard_sorts_a_column_up_down_and_resets(opened):
    page = opened("#/results")
    before = column(page, "case")
    button = head(page, "case").get_by_role("button")
    button.focus()
    for order, end in (("ascending", "sort=case"), ("descending", "sort=-case")):
        page.keyboard.press("Enter")
        wait_for_address(page, f"#/results?{end}")
        page.locator(f"th[aria-sort={order}]").wait_for()
        assert column(page, "case") == sorted(before, reverse=order == "descending")
        assert button.evaluate("(one) => one === document.activeElement")
    page.keyboard.press("Space")
    wait_for_address(page, "#/results")
    expect(page.locator("[aria-sort]")).to_have_count(0)
    assert column(page, "case") == before


@pytest.mark.parametrize("order", ["surface", "-surface", "how", "-how"])
def test_order_in_the_url_is_applied(opened, order):
    shown = column(opened(f"#/results?sort={order}"), order.strip("-"))
    assert shown == sorted(shown, reverse=order.startswith("-"))


def test_errors_are_sorted_as_numbers_largest_first_missing_last(opened):
    page = opened("#/results")
    head(page, "error ÷ bound").get_by_role("button").click()
    wait_for_address(page, "sort=-share")
    page.locator("th[aria-sort=descending]").wait_for()
    shares = column(page, "share")
    numbers = [float("inf") if text == "∞" else float(text) for text in shares if text]
    assert numbers == sorted(numbers, reverse=True)
    assert shares[len(numbers) :] == [""] * (len(shares) - len(numbers))
    assert "" in shares


def test_filter_preserves_the_order_and_reset_removes_it(opened):
    page = opened("#/results?sort=-case")
    page.locator(".filters[role=search] select[name=status]").select_option("fail")
    wait_for_address(page, "#/results?sort=-case&status=fail")
    wait_for_status(page, "5 of 39 results")
    assert column(page, "case") == sorted(column(page, "case"), reverse=True)
    page.get_by_role("link", name="Reset").click()
    wait_for_status(page, "39 of 39 results")
    expect(page.locator("[aria-sort]")).to_have_count(0)


def test_unknown_column_in_the_url_is_ignored(opened):
    page = opened("#/results?sort=constructor")
    wait_for_status(page, "39 of 39 results")
    expect(page.locator("[aria-sort]")).to_have_count(0)
