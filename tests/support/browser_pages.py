"""Helpers for browser tests: messages and requests of a page, waiting for changes, accessibility."""

import re
from importlib import import_module

PATIENCE = 60_000  # milliseconds


def expect(target):
    """Return assertions about a page or locator that wait, as `playwright.sync_api.expect` does.

    A page is rendered after the event that changes it. Its assertions must wait.
    Import Playwright here, because the tests skip where it is missing.
    """
    assertions = import_module("playwright.sync_api").expect
    assertions.set_options(timeout=PATIENCE)
    return assertions(target)


def listen(page, address):
    """Return a list to which console messages, errors and requests of other addresses are appended."""
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: messages.append(request.url) if request.url != address else None)
    return messages


def wait_for_status(page, text):
    """Wait for a status text. The page is rendered after the event that changes it."""
    page.get_by_role("status").filter(has_text=re.compile(f"^{re.escape(text)}$")).first.wait_for()


def wait_for_address(page, end):
    """Wait until the address ends with `end`."""
    page.wait_for_url(lambda url: url.endswith(end))


def violations(axe, page):
    """Return the violations of the rules of axe: the rule, the element and the explanation."""
    found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(one["id"], node["html"][:200], node["failureSummary"]) for one in found for node in one["nodes"]]
