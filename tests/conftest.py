"""What holds for all tests."""

import gc

import pytest
from hypothesis import settings

# How long an example takes depends on the machine and on what else it does.
settings.register_profile("bbedge", deadline=None)
settings.load_profile("bbedge")


def pytest_collection_finish():
    """Thousands of tests and the modules that they import stay to the end: no collection needs to visit them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def same_time():
    """Certificates state when they were written: two runs of a command have the same bytes only at the same time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1769860800")
        yield
