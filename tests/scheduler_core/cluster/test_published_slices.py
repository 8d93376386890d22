"""Taint rules of a live cluster change the slices that they select, and only those are read again."""

from __future__ import annotations

import msgspec
import pytest

from kubeapi.devices import DeviceTaintRuleSpec, ResourceSlice
from scheduler_core.cluster import published_slices
from scheduler_core.cluster.published_slices import PublishedSlices

SELECTORS = {
    "one pool": ({"driver": "gpu.example.com", "pool": "p3"}, ["s3"]),
    "a device of one pool": ({"driver": "gpu.example.com", "pool": "p5", "device": "b"}, ["s5"]),
    "a driver": ({"driver": "gpu.example.com"}, [f"s{number}" for number in range(8)]),
    "another driver": ({"driver": "net.example.com", "pool": "p3"}, []),
    "no selector": (None, []),
}


def rule(selector, key="k"):
    taint = {"key": key, "effect": "NoSchedule"}
    return msgspec.convert({"taint": taint, **({} if selector is None else {"deviceSelector": selector})}, DeviceTaintRuleSpec)


def written(number):
    pool = {"name": f"p{number}", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "a"}, {"name": "b"}]
    spec = {"driver": "gpu.example.com", "nodeName": f"n{number}", "pool": pool, "devices": devices}
    return msgspec.convert({"metadata": {"name": f"s{number}"}, "spec": spec}, ResourceSlice)


def keys(slices):
    found = ((each.name, device) for each in slices.all() for device in each.devices)
    return {(name, device.name): [taint.key for taint in device.content.taints] for name, device in found if device.content.taints}


@pytest.mark.parametrize(("selector", "reached"), SELECTORS.values(), ids=SELECTORS)
def test_a_rule_reads_the_slices_again_that_it_can_select(selector, reached, monkeypatch):
    slices, again = PublishedSlices(), []
    for number in range(8):
        slices.set_slice(f"s{number}", written(number))
    publish = published_slices.published_slice
    monkeypatch.setattr(published_slices, "published_slice", lambda name, *rest: again.append(name) or publish(name, *rest))
    assert slices.set_rule("r", rule(selector))
    devices = {(selector or {}).get("device")} - {None} or {"a", "b"}
    assert (again, keys(slices)) == (reached, {(name, device): ["k"] for name in reached for device in devices})
    assert slices.set_rule("r", None)
    assert keys(slices) == {}


def test_taints_are_in_the_order_of_the_names_of_the_rules():
    slices = PublishedSlices()
    slices.set_slice("s1", written(1))
    for name, selector in (("z", {"pool": "p1"}), ("m", {}), ("a", {"device": "a"})):
        slices.set_rule(name, rule(selector, f"of-{name}"))
    assert keys(slices) == {("s1", "a"): ["of-a", "of-m", "of-z"], ("s1", "b"): ["of-m", "of-z"]}
    slices.set_rule("m", rule({"pool": "p2"}, "of-m"))
    slices.set_slice("s2", written(2))
    assert keys(slices) == {("s1", "a"): ["of-a", "of-z"], ("s1", "b"): ["of-z"], ("s2", "a"): ["of-a", "of-m"], ("s2", "b"): ["of-m"]}
