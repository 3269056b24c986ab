"""Failures as facts."""

import pytest

from bbedge.evaluate.completion import StudyCall
from bbedge.evaluate.events import ErrorSeen
from bbedge.evaluate.failures import Problem, counted_lines, described, kind_of_status


def problem(**given):
    return Problem(
        **{"kind": "server", "model": "a", "message": "no", "endpoint": "http://h/v1", "status": 500} | given
    )


def test_kinds_are_counted_by_model_address_and_status():
    seen = []
    call = StudyCall(None, None, seen.append)
    others = ({"model": "b"}, {"status": 503}, {"endpoint": "http://other/v1"}, {"kind": "answer"})
    for each in ({"message": "one"}, {"message": "two"}, *others):
        call.report_failure(problem(**each))
    assert all(isinstance(event, ErrorSeen) for event in seen)
    assert [event.count for event in seen] == [1, 2, 1, 1, 1, 1]
    counts = first, *rest = tuple(call.problems.values())
    assert (first.first.message, first.count) == ("one", 2)
    assert [each.count for each in rest] == [1, 1, 1, 1]
    assert counted_lines(counts)[0] == "2 x a at http://h/v1: server error (HTTP 500): one"
    assert counted_lines(counts, most=2)[-1] == "and 3 other kinds"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "refused"),
        (401, "credentials"),
        (403, "credentials"),
        (404, "not-found"),
        (408, "timeout"),
        (422, "refused"),
        (429, "rate-limit"),
        (500, "server"),
        (503, "server"),
        (302, "answer"),
    ],
)
def test_a_status_has_a_kind(status, kind):
    assert kind_of_status(status) == kind


def test_only_what_needs_a_change_is_lasting():
    lasting = {"no-connection", "credentials", "not-found", "refused", "program"}
    kinds = lasting | {"rate-limit", "server", "timeout", "connection-lost", "answer", "other"}
    assert {kind for kind in kinds if problem(kind=kind).lasting} == lasting
    assert {kind for kind in kinds if problem(kind=kind).passing} == {"rate-limit", "server"}


def test_no_credential_is_left_in_any_part():
    leaky = problem(
        message="bad key plainwordkey" + " " * 5000,
        endpoint="http://ann:hunter2Correct@host/v1?token=hunter2Correct",
        output=("Authorization: Bearer hunter2Correct", "plainwordkey"),
    )
    cleaned = leaky.cleaned(("plainwordkey",))
    text = repr(cleaned)
    assert "host/v1" in text
    assert "hunter2Correct" not in text
    assert "plainwordkey" not in text
    assert len(cleaned.message) <= 4000


def test_what_a_program_wrote_follows_on_lines_of_its_own():
    text = described(problem(kind="program", status=None, endpoint=None, message="code 7", output=("one", "two")))
    assert text.splitlines() == ["a: the program failed: code 7", "    | one", "    | two"]


def test_a_message_cannot_change_the_terminal():
    assert "\x1b" not in described(problem(message="\x1b[31mred", model="\x1b[2J", endpoint="http://h/\x1b"))
