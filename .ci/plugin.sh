#!/usr/bin/env bash
# Test the example of a backend in its own package (docs/example-backend): install it with the suite into a new environment,
# run it with the command line and with pytest, and run its own tests. Needs Python 3.11 or newer.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(command -v python3.11 || command -v python3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check . docs/example-backend pytest
"$work/venv/bin/conformance" backends | grep -E "^scipy +[0-9]"
(cd "$work" && venv/bin/conformance run --backend scipy --out "$work/out")
(cd "$work" && mkdir empty && cd empty && ../venv/bin/python -m pytest -q -W error --conformance-backend scipy)
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider --rootdir docs/example-backend -c /dev/null docs/example-backend/tests
