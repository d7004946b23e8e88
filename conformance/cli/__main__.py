"""Entry point of `python -m conformance.cli`."""

from conformance.cli import main

main()
