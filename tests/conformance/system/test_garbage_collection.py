import gc

import pytest

from conformance.system.garbage_collection import paused_garbage_collection


@paused_garbage_collection()
def fail_while_paused():
    raise ValueError(gc.isenabled())


def test_collector_is_paused_and_enabled_again_after_an_error():
    with pytest.raises(ValueError, match="False"):
        fail_while_paused()
    assert gc.isenabled()


def test_disabled_collector_stays_disabled():
    gc.disable()
    try:
        with paused_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
