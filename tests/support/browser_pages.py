"""What tests ask of a page in a browser, and what it says that it should not."""

import re


def listen(page, address):
    """Return a list that grows with console messages, errors, and requests of a page for anything but its address."""
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if request.url != address else None)
    return heard


def finds(page, text):
    """Wait until the list says this: it is drawn after the event that changes it."""
    page.get_by_role("status").filter(has_text=re.compile(f"^{re.escape(text)}$")).first.wait_for()


def leads(page, end):
    """Wait until the address ends so."""
    page.wait_for_url(lambda url: url.endswith(end))
