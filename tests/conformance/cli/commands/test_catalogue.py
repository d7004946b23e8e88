"""`conformance catalogue`."""

import pytest

from tests.support.fake_backends import family

pytestmark = pytest.mark.usefixtures("own_folder")

X = "x: {values: arange, shape: [1, 1, 4, 4]}"


PLAIN = f"id: a, {X}, window: 2"


def test_catalogue_prints_the_page_of_statistics(conformance, tmp_path):
    status, out, error = conformance("catalogue", "--cases", family(tmp_path, PLAIN))
    assert (status, error) == (0, [])
    assert out.startswith("# The catalogue in numbers\n")
    assert "| `max_pool` | 1 |" in out
    assert "Beside what others have" not in out
