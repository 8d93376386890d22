"""Pods that equal another one are read as those that do not."""

from __future__ import annotations

import dataclasses
import itertools
import json

import msgspec
import pytest

from scheduler_core.cluster.load import load
from scheduler_core.loading import pod_text_cache
from tests.scheduler_core.loading.manifests import node, pod
from tests.scheduler_core.worded_problems import worded

VARIANTS = {
    "running": {"nodeName": "node-1", "status": {"phase": "Running", "startTime": "2026-08-01T00:00:00Z"}},
    "pending": {"status": {"phase": "Pending"}},
    "nominated": {"status": {"phase": "Pending", "nominatedNodeName": "node-1"}},
    "ended": {"nodeName": "node-1", "status": {"phase": "Succeeded"}},
    "ready": {"nodeName": "node-1", "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
    "null fields": {"nodeName": None, "priority": None, "status": {"phase": "Pending", "conditions": None}},
    "whole number": {"priority": 3.0, "status": {"phase": "Pending"}},
    "wrong type": {"priority": "high", "status": {"phase": "Pending"}},
    "without status": {"nodeName": "node-1"},
    "ephemeral claim": {
        "volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}],
        "status": {"phase": "Pending"},
    },
    "claim to a device": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}], "status": {"phase": "Pending"}},
    "group of v1alpha1": {"workloadRef": {"name": "w", "podGroup": "g"}, "status": {"phase": "Pending"}},
    "unknown class": {"priorityClassName": "none", "status": {"phase": "Pending"}},
    "bad node": {"nodeName": "gone", "status": {"phase": "Running"}},
}


def named(number, variant):
    made = json.loads(json.dumps(pod(f"p{number}", labels={"app": "a", "index": str(number)}, **variant)))
    made["metadata"] |= {"creationTimestamp": f"2026-08-01T00:00:{number:02d}Z"}
    if number % 3 == 0:
        made["metadata"]["deletionTimestamp"] = "2026-08-02T00:00:00Z"
    return made


def content(snapshot):
    records = []
    for each in snapshot.pods:
        fields = msgspec.structs.asdict(each)
        shape = {field.name: getattr(each.shape, field.name) for field in dataclasses.fields(each.shape) if field.name != "serial"}
        records.append({**fields, "shape": shape})
    return records, [(each.object, each.message) for each in worded(snapshot.problems)]


@pytest.fixture
def alone(monkeypatch):
    """A function that reads every pod as if none equalled another."""

    def read(objects):
        with monkeypatch.context() as patch:
            patch.setattr(pod_text_cache.PodTextCache, "parsed_pod", lambda *_: None)
            return content(load(objects))

    return read


def test_pods_that_differ_in_annotations_of_shares_are_not_equal(alone):
    objects = [node(), *(named(number, VARIANTS["pending"]) for number in range(4))]
    objects[2]["metadata"]["annotations"] = {"gpu-fraction": "0.5", "other": "x"}
    objects[3]["metadata"]["annotations"] = {"other": "x"}
    assert content(load(objects)) == alone(objects)
    assert [(), ("metadata.annotations[gpu-fraction]",), (), ()] == [each.shape.unmodelled for each in load(objects).pods]


@pytest.mark.parametrize("variant", [pytest.param(each, id=name) for name, each in VARIANTS.items()])
def test_equal_pods_are_read_as_alone(variant, alone):
    objects = [node(), *(named(number, variant) for number in range(4))]
    assert content(load(objects)) == alone(objects)


def test_pods_of_all_kinds_are_read_as_alone_in_any_order(alone):
    pods = [named(number, each) for number, each in enumerate(itertools.chain(VARIANTS.values(), VARIANTS.values()))]
    assert content(load([node(), *pods])) == content(load([*reversed(pods), node()])) == alone([node(), *pods])


def test_most_equal_pods_are_not_decoded_whole(monkeypatch):
    decoded = []
    parsed_pod = pod_text_cache.PodTextCache.remember
    monkeypatch.setattr(pod_text_cache.PodTextCache, "remember", lambda self, each: (decoded.append(each), parsed_pod(self, each)))
    load([node(), *(named(number, VARIANTS["running"]) for number in range(10))])
    assert len(decoded) == 1


def test_few_kinds_of_pods_are_remembered(monkeypatch, alone):
    monkeypatch.setattr(pod_text_cache, "_MOST_KINDS", 1)
    objects = [node(), *(named(number, each) for number, each in enumerate([*VARIANTS.values(), *VARIANTS.values()]))]
    assert content(load(objects)) == alone(objects)
