"""What a page in a browser says that it should not: console messages, errors, requests for anything but itself."""


def listen(page, address):
    """Return a list that grows with all that the page of an address says, and asks of others."""
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if request.url != address else None)
    return heard
