"""The list of results as a table: sorted by a column, with the keyboard, in the URL."""

import pytest

from tests.support.browser_pages import finds, leads

STATUSES = ["fail", "crashed", "timed out", "flaky", "stale", "known", "unsupported", "pass"]  # worst first
COLUMNS = {"status": 0, "surface": 1, "how": 2, "share": 3}


def column(page, name):
    """Return the texts of a column, the case among them as the head of its row."""
    if name == "case":
        return page.locator(".list tbody th").all_inner_texts()
    return page.locator(f".list tbody td:nth-of-type({COLUMNS[name] + 1})").all_inner_texts()


def head(page, name):
    return page.get_by_role("columnheader", name=name)


def test_list_stands_worst_first_until_a_column_is_asked_for(opened):
    page = opened("#/results")
    ranks = [STATUSES.index(text.split(maxsplit=1)[1]) for text in column(page, "status")]
    assert ranks == sorted(ranks)
    assert page.locator("[aria-sort]").count() == 0


def test_column_is_sorted_with_the_keyboard_up_down_and_not(opened):
    page = opened("#/results")
    before = column(page, "case")
    button = head(page, "case").get_by_role("button")
    button.focus()
    for order, end in (("ascending", "sort=case"), ("descending", "sort=-case")):
        page.keyboard.press("Enter")
        leads(page, f"#/results?{end}")
        page.locator(f"th[aria-sort={order}]").wait_for()
        assert column(page, "case") == sorted(before, reverse=order == "descending")
        assert button.evaluate("(one) => one === document.activeElement")
    page.keyboard.press("Space")
    leads(page, "#/results")
    page.wait_for_function("!document.querySelector('[aria-sort]')")
    assert column(page, "case") == before


@pytest.mark.parametrize("order", ["surface", "-surface", "how", "-how"])
def test_order_in_the_url_is_the_senders(opened, order):
    shown = column(opened(f"#/results?sort={order}"), order.strip("-"))
    assert shown == sorted(shown, reverse=order.startswith("-"))


def test_errors_are_sorted_as_numbers_the_largest_first_those_without_last(opened):
    page = opened("#/results")
    head(page, "error ÷ bound").get_by_role("button").click()
    leads(page, "sort=-share")
    page.locator("th[aria-sort=descending]").wait_for()
    shares = column(page, "share")
    numbers = [float("inf") if text == "∞" else float(text) for text in shares if text]
    assert numbers == sorted(numbers, reverse=True)
    assert shares[len(numbers) :] == [""] * (len(shares) - len(numbers))
    assert "" in shares


def test_filter_keeps_the_order_and_reset_forgets_it(opened):
    page = opened("#/results?sort=-case")
    page.get_by_label("Status").select_option("fail")
    leads(page, "#/results?sort=-case&status=fail")
    finds(page, "5 of 39 results")
    assert column(page, "case") == sorted(column(page, "case"), reverse=True)
    page.get_by_role("link", name="Reset").click()
    finds(page, "39 of 39 results")
    assert page.locator("[aria-sort]").count() == 0


def test_order_by_no_column_is_none(opened):
    page = opened("#/results?sort=constructor")
    finds(page, "39 of 39 results")
    assert page.locator("[aria-sort]").count() == 0
