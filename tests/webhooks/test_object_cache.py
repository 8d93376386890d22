"""Object cache: unknown and stale objects, and concurrent readers."""

from __future__ import annotations

import threading

import pytest

from tests.webhooks.manifests import group
from validators.model.objects import decode_kind
from webhooks.lookup.object_cache import Cache, CachedLookup


def cached(*objects, clock=lambda: 0.0, stale=10.0, kind="PodGroup"):
    cache = Cache(kind, stale, clock)
    cache.replace([decode_kind(kind, each) for each in objects])
    return cache


@pytest.mark.parametrize(("seconds", "want"), [pytest.param(10.0, True, id="at the limit"), pytest.param(10.1, False, id="beyond")])
def test_a_cache_without_events_counts_as_unknown(seconds, want):
    now = [0.0]
    cache = cached(group("one", parent="top"), clock=lambda: now[0])
    now[0] = seconds

    assert want == (cache.list_objects() is not None)
    assert want == (cache.get(("a", "one")) is not None)
    assert want == bool(cache.children(("a", "top")))


def test_system_priority_classes_are_always_there():
    assert "system-node-critical" == CachedLookup([]).get("PriorityClass", "", "system-node-critical").metadata.name


def test_an_update_that_changes_nothing_keeps_the_listing():
    cache = cached(group("b"), group("a"))
    before = cache.list_objects()
    cache.add_or_update(decode_kind("PodGroup", group("b", version="99")))

    assert before is cache.list_objects()
    cache.add_or_update(decode_kind("PodGroup", group("c")))
    assert ["a", "b", "c"] == [each.metadata.name for each in cache.list_objects()]


def test_readers_and_the_writer_do_not_disturb_each_other():
    cache = cached()
    objects = [decode_kind("PodGroup", group(f"g{number}", parent=f"p{number % 7}")) for number in range(500)]
    failures, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                cache.list_objects()
                cache.children(("a", "p3"))
            except RuntimeError as error:
                failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for each in readers:
        each.start()
    for _ in range(20):
        for each in objects:
            cache.add_or_update(each)
        for each in objects:
            cache.remove(each)
    stop.set()
    for each in readers:
        each.join()

    assert [] == failures
    assert () == cache.list_objects()


def described(objects):
    return None if objects is None else [(each.metadata.name, (each.metadata.labels or {}).get("of")) for each in objects]


def test_of_one_name_in_two_api_groups_the_first_counts():
    first, second = cached(group("a", labels={"of": "first"})), cached(*(group(name, labels={"of": "second"}) for name in "ab"))
    lookup = CachedLookup([first, second])

    assert [("a", "first"), ("b", "second")] == described(lookup.list_kind("PodGroup"))
    assert lookup.list_kind("PodGroup") is lookup.list_kind("PodGroup")
    assert [("a", "first"), ("b", "second")] == described([lookup.get("PodGroup", "a", name) for name in "ab"])
    first.remove(decode_kind("PodGroup", group("a")))
    assert [("a", "second"), ("b", "second")] == described(lookup.list_kind("PodGroup"))
    assert [("a", "second")] == described([lookup.get("PodGroup", "a", "a")])


def test_children_are_in_either_api_group_and_each_name_counts_once():
    first, second = cached(group("a", parent="x"), group("c", parent="top")), cached(*(group(name, parent="top") for name in "abd"))
    lookup = CachedLookup([first, second])

    assert ["b", "c", "d"] == [each.metadata.name for each in lookup.children("PodGroup", "a", "top")]
    assert ["a"] == [each.metadata.name for each in lookup.children("PodGroup", "a", "x")]


def test_a_kind_is_known_if_each_api_group_that_serves_it_is():
    now = [0.0]
    first, second = cached(group("a"), clock=lambda: now[0]), Cache("PodGroup", 10.0, lambda: now[0])
    lookup = CachedLookup([first, second])
    assert None is lookup.list_kind("PodGroup")
    second.not_served()
    assert first.list_objects() is lookup.list_kind("PodGroup")
    second.replace([decode_kind("PodGroup", group("b"))])
    assert ["a", "b"] == [each.metadata.name for each in lookup.list_kind("PodGroup")]
    first.not_served()
    assert ["b"] == [each.metadata.name for each in lookup.list_kind("PodGroup")]
    second.not_served()
    assert None is lookup.list_kind("PodGroup")
