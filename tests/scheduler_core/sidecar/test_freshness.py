"""Which events are news."""

from __future__ import annotations

import pytest

from scheduler_core.sidecar.cache import freshness
from scheduler_core.sidecar.cache.freshness import MAX_REMEMBERED, Freshness, Stamp, number

A, B, C = ("default", "a"), ("default", "b"), ("default", "c")


@pytest.mark.parametrize(
    ("written", "want"),
    [
        pytest.param("12", 12, id="a number"),
        pytest.param("", 0, id="none"),
        pytest.param("12a", 0, id="not a number"),
        pytest.param("-3", 0, id="negative"),
        pytest.param("٣", 0, id="digits of another script"),
        pytest.param("9" * 24, int("9" * 24), id="as long as it may be"),
        pytest.param("9" * 25, 0, id="too long"),
    ],
)
def test_version_is_a_number_or_unknown(written, want):
    assert want == number(written)


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(Stamp("u", 5), Stamp("u", 6), True, id="newer"),
        pytest.param(Stamp("u", 5), Stamp("u", 5), False, id="the same again"),
        pytest.param(Stamp("u", 5), Stamp("u", 4), False, id="older"),
        pytest.param(Stamp("u", 5), Stamp("v", 6), True, id="another of its name, newer"),
        pytest.param(Stamp("u", 5), Stamp("v", 4), False, id="another of its name, older"),
        pytest.param(Stamp("u", 0), Stamp("u", 0), True, id="without versions"),
        pytest.param(Stamp("u", 5), Stamp("u", 0), True, id="a version that is unknown"),
    ],
)
def test_existing_object_is_a_change_unless_it_is_older(before, after, want):
    kept = Freshness()
    assert kept.add_or_update(A, before)
    assert want == kept.add_or_update(A, after)


@pytest.mark.parametrize(
    ("gone", "want"),
    [
        pytest.param(Stamp("u", 6), True, id="it"),
        pytest.param(Stamp("u", 4), True, id="it, though the version is older: a deletion is final"),
        pytest.param(Stamp("t", 4), False, id="one before it"),
        pytest.param(Stamp("v", 9), True, id="one after it"),
        pytest.param(Stamp("", 0), True, id="whichever"),
    ],
)
def test_deletion_is_a_change_unless_it_is_of_an_earlier_uid(gone, want):
    kept = Freshness()
    kept.add_or_update(A, Stamp("u", 5))
    assert want == kept.delete(A, gone)
    assert want == (A not in kept.known)


def test_late_event_of_what_was_deleted_brings_nothing_back():
    kept = Freshness()
    kept.add_or_update(A, Stamp("u", 5))
    kept.delete(A, Stamp("u", 7))
    assert not kept.add_or_update(A, Stamp("u", 6))
    assert not kept.add_or_update(A, Stamp("u", 8))
    assert kept.add_or_update(A, Stamp("v", 8))


def test_a_late_deletion_of_an_earlier_uid_does_not_hide_the_last_one():
    stored = Freshness()
    assert stored.add_or_update(A, Stamp("v", 9))
    assert stored.delete(A, Stamp("v", 11))
    assert not stored.delete(A, Stamp("u", 7))
    assert not stored.add_or_update(A, Stamp("v", 9))


def test_deletions_are_remembered_up_to_a_number():
    kept = Freshness()
    for each in range(MAX_REMEMBERED + 1):
        kept.delete(("default", str(each)), Stamp(f"u{each}", 5))
    assert kept.add_or_update(("default", "0"), Stamp("u0", 6))
    assert not kept.add_or_update(("default", "1"), Stamp("u1", 6))


def whole_list(kept, version, **objects):
    """Apply a list in one part, and return the names of the objects that it lacks."""
    kept.begin_list(version)
    for name, stamp in objects.items():
        kept.add_or_update(("default", name), stamp, listed=True)
    return kept.end_list(version)


def test_list_removes_missing_objects_and_older_events_after_it_are_ignored():
    kept = Freshness()
    kept.add_or_update(A, Stamp("u", 5))
    kept.add_or_update(B, Stamp("w", 6))
    assert [B] == whole_list(kept, 9, a=Stamp("u", 5))
    assert not kept.add_or_update(B, Stamp("w", 8))
    assert kept.add_or_update(B, Stamp("w", 10))


def test_list_that_is_older_than_an_object_does_not_drop_it():
    kept = Freshness()
    kept.add_or_update(A, Stamp("u", 10))
    assert [] == whole_list(kept, 9)
    assert A in kept.known


def test_list_without_a_version_is_taken_at_its_word():
    kept = Freshness()
    kept.add_or_update(A, Stamp("u", 10))
    assert [A] == whole_list(kept, 0)


def test_object_of_a_list_is_a_change_though_an_older_list_lacked_it():
    kept = Freshness()
    assert [] == whole_list(kept, 9)
    assert not kept.add_or_update(A, Stamp("u", 8))
    assert kept.add_or_update(A, Stamp("u", 8), listed=True)
    assert freshness.Stamp("u", 8) == kept.known[A]


def test_list_is_outdated_after_a_newer_one():
    kept = Freshness()
    assert [True, True] == [kept.is_new(version) for version in (0, 5)]
    whole_list(kept, 5)

    assert [True, False, True, True] == [kept.is_new(version) for version in (0, 4, 5, 6)]


def test_event_between_two_parts_of_a_list_brings_back_nothing_that_the_list_lacks():
    kept = Freshness()
    kept.begin_list(9)
    assert not kept.add_or_update(A, Stamp("u", 8))
    assert kept.add_or_update(B, Stamp("w", 10))

    assert [] == kept.end_list(9)
    assert {B} == {*kept.known}


def test_a_list_that_breaks_off_deletes_nothing_and_the_next_one_what_it_lacks():
    kept = Freshness()
    kept.add_or_update(A, Stamp("u", 5))
    kept.add_or_update(B, Stamp("w", 6))
    kept.begin_list(9)
    kept.add_or_update(A, Stamp("u", 5), listed=True)

    assert [A] == whole_list(kept, 12, b=Stamp("w", 6))
    assert [] == kept.end_list(9)


@pytest.mark.parametrize("versions", [pytest.param((9, 9), id="at one version"), pytest.param((9, 12), id="the second is newer")])
def test_of_two_lists_at_once_the_newer_one_decides(versions):
    kept = Freshness()
    for name, stamp in ((A, Stamp("u", 5)), (B, Stamp("w", 6)), (C, Stamp("x", 7))):
        kept.add_or_update(name, stamp)
    one, two = versions
    kept.begin_list(one)
    kept.add_or_update(A, Stamp("u", 5), listed=True)
    kept.begin_list(two)
    for name, stamp in ((A, Stamp("u", 5)), (B, Stamp("w", 6))):
        kept.add_or_update(name, stamp, listed=True)

    assert [C] == [*(kept.end_list(one) if one < two else ()), *kept.end_list(two)]
    assert [] == kept.end_list(one)
    assert {A, B} == {*kept.known}
