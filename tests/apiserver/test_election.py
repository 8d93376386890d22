from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.election import RETRY_SECONDS, Election, Record
from tests.sampling import sampled

NOW = "2026-01-01T00:00:00.000000Z"


def lease_of(holder, duration=10, renewed="1"):
    return Record(holder, duration, "0", renewed, 3)


def test_a_lease_that_is_not_there_is_taken():
    election = Election("a")
    expected = election.next_record(None, 0.0, NOW)

    assert Record("a", 10, NOW, NOW, 0) == expected
    assert not election.leading(0.0)
    election.record_write(expected, 0.0)
    assert election.leading(6.9)


def test_each_leadership_is_a_new_term_also_if_another_may_have_led_between():
    election = Election("a")
    terms = [election.term(0.0)]
    for began in (0.0, 5.0, 12.1, 13.0):
        election.record_write(lease_of("a"), began)
        terms.append(election.term(began))
    election.record_loss()
    terms.append(election.term(13.5))
    election.record_write(lease_of("a"), 14.0)

    assert [0, 1, 1, 2, 2, 0, 3] == [*terms, election.term(14.0)]


def test_a_renewal_whose_answer_comes_after_the_end_keeps_the_term_unless_somebody_was_told():
    election = Election("a")
    election.record_write(lease_of("a"), 0.0)
    election.record_write(lease_of("a"), 6.9)
    terms = [election.term(13.8)]
    election.record_write(lease_of("a"), 13.7)
    terms.append(election.term(14.0))
    terms.append(election.term(20.8))
    election.record_write(lease_of("a"), 20.6)

    assert [1, 1, 0, 2] == [*terms, election.term(20.9)]


def test_a_lease_that_another_held_and_released_begins_a_new_term():
    election = Election("a")
    election.record_write(lease_of("a"), 0.0)
    election.record_write(election.next_record(lease_of("", renewed="2"), 6.5, NOW), 6.0)

    assert 2 == election.term(6.6)


def test_a_lease_that_was_given_up_is_taken_at_once():
    wanted_value = Election("a").next_record(lease_of(""), 0.0, NOW)

    assert ("a", 4) == (wanted_value.holder, wanted_value.transitions)


def test_a_renewal_keeps_when_it_was_acquired():
    election = Election("a")
    expected = election.next_record(lease_of("a"), 5.0, NOW)

    assert ("a", "0", NOW, 3) == (expected.holder, expected.acquired, expected.renewed, expected.transitions)


@pytest.mark.parametrize(("seconds", "used"), [pytest.param(9.9, False, id="not yet"), pytest.param(10.0, True, id="as long as it lasts")])
def test_anothers_lease_is_taken_once_it_was_seen_unchanged_for_its_time(seconds, used):
    election = Election("a")
    assert None is election.next_record(lease_of("b"), 100.0, NOW)

    assert used == (election.next_record(lease_of("b"), 100.0 + seconds, NOW) is not None)


def test_a_renewal_of_the_other_begins_the_wait_again():
    election = Election("a")
    for moment in range(0, 60, 6):
        assert None is election.next_record(lease_of("b", renewed=str(moment)), float(moment), NOW)


def test_a_longer_lease_of_the_other_is_waited_for():
    election = Election("a")
    election.next_record(lease_of("b", duration=30), 0.0, NOW)

    assert None is election.next_record(lease_of("b", duration=30), 29.9, NOW)
    assert election.next_record(lease_of("b", duration=30), 30.0, NOW) is not None


def test_a_lease_that_claims_to_last_no_time_is_waited_for_as_long_as_ours():
    election = Election("a")
    election.next_record(lease_of("b", duration=0), 0.0, NOW)

    assert None is election.next_record(lease_of("b", duration=0), 9.9, NOW)


@pytest.mark.parametrize(("seconds", "leads"), [pytest.param(6.9, True, id="within"), pytest.param(7.0, False, id="at the limit")])
def test_leading_ends_by_itself_from_the_beginning_of_the_last_renewal(seconds, leads):
    election = Election("a")
    election.record_write(election.next_record(None, 3.0, NOW), 2.0)

    assert leads == election.leading(2.0 + seconds)
    assert (election.remaining(2.0 + seconds) > 0) == leads


def test_giving_up_ends_leading_at_once():
    election = Election("a")
    election.record_write(election.next_record(None, 0.0, NOW), 0.0)
    remaining = election.release(lease_of("a"))

    assert not election.leading(0.1)
    assert "" == remaining.holder


@pytest.mark.parametrize("renew", [pytest.param(10.0, id="as long as the lease"), pytest.param(0.0, id="no time")])
def test_a_leader_must_stop_before_its_lease_ends(renew):
    with pytest.raises(ValueError, match="renew_seconds"):
        Election("a", duration=10.0, renew_seconds=renew)


@dataclasses.dataclass
class Server:
    """Lease that accepts a write only with its current version."""

    record: Record | None = None
    version: int = 0

    def write(self, record, seen):
        if seen != self.version:
            return False
        self.record, self.version = record, self.version + 1
        return True


@settings(max_examples=sampled(200), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(0.1, 6.0), st.floats(0.0, 5.0), st.sampled_from(["ok", "lost answer", "no answer"])),
        max_size=60,
    )
)
def test_there_are_never_two_leaders(steps):
    """Three candidates; their requests are slow, lost, or executed without a reply."""
    server, now = Server(), 0.0
    candidates = [Election(str(number)) for number in range(3)]
    for number, passed, slow, fate in steps:
        now += passed
        candidate, began, seen = candidates[number], now, server.version
        expected = candidate.next_record(server.record, now, f"{now:.6f}")
        if expected is None:
            candidate.record_loss()
        elif fate != "no answer" and server.write(expected, seen):
            now += slow
            if fate == "ok":
                candidate.record_write(expected, began)
        assert sum(each.leading(now) for each in candidates) <= 1


def test_a_leader_that_is_gone_is_followed_within_fifteen_seconds():
    server, clock = Server(), 0.0
    first, second = Election("a"), Election("b")
    expected = first.next_record(server.record, clock, NOW)
    server.write(expected, server.version)
    first.record_write(expected, clock)
    while clock <= 15.0:
        clock += 2.0
        expected = second.next_record(server.record, clock, str(clock))
        if expected is not None:
            server.write(expected, server.version)
            second.record_write(expected, clock)
            break

    assert second.leading(clock)
    assert clock <= 13.0


@pytest.mark.parametrize(
    ("holder", "now", "want"),
    [
        pytest.param("b", 1.0, RETRY_SECONDS, id="it can be taken later"),
        pytest.param("b", 9.5, 0.5, id="it can be taken soon"),
        pytest.param("b", 10.0, RETRY_SECONDS, id="it could be taken already"),
        pytest.param("a", 9.5, RETRY_SECONDS, id="its own"),
        pytest.param("", 9.5, RETRY_SECONDS, id="nobody's"),
    ],
)
def test_the_next_step_is_no_later_than_the_end_of_anothers_lease(holder, now, want):
    election = Election("a")
    election.next_record(lease_of(holder), 0.0, NOW)

    assert want == election.retry_seconds(now)
    assert RETRY_SECONDS == Election("a").retry_seconds(now)
