"""What holds for all tests."""

import gc

import pytest
from hypothesis import settings

from tiers import LONG, Share, complaint

# How long an example takes depends on the machine and on what else it does.
settings.register_profile("bbedge", deadline=None)
settings.load_profile("bbedge")


def pytest_addoption(parser):
    parser.addoption("--share", type=Share.parse, metavar="K/N", help="run only the K-th of N parts of the tests")


def pytest_collection_modifyitems(config, items):
    wrong = [f"{item.nodeid}: {text}" for item in items if (text := complaint(list(item.iter_markers())))]
    if wrong:
        raise pytest.UsageError("\n".join(wrong))
    share = config.getoption("--share")
    if share is not None:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in share])
        items[:] = [item for item in items if item.nodeid in share]


def pytest_terminal_summary(terminalreporter):
    """Name the long tests of the usual run. It is no failure: on a busy machine every test takes long."""
    reports = [
        report
        for report in terminalreporter.getreports("passed")
        if report.when == "call" and report.duration > LONG and not {"nightly", "every_push"} & set(report.keywords)
    ]
    if reports:
        terminalreporter.section(f"over {LONG:g} s: make these faster or nightly, or give a reason with every_push")
        for report in sorted(reports, key=lambda report: -report.duration):
            terminalreporter.write_line(f"{report.duration:6.1f} s  {report.nodeid}")


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
