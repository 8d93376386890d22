"""Pods with volumes that count against attach limits, ReadWriteOncePod claims and inline disks, compared with the oracle and brute force."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.scheduler_core.oracle import compare
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.test_agreement import RANDOM, Json, answer

DRIVERS = ("a.example", "b.example", "free.example")
"""CSI drivers; no node limits the last one."""
MODES = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod")
DISKS: tuple[Json, ...] = (
    {"gcePersistentDisk": {"pdName": "d"}},
    {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
    {"iscsi": {"iqn": "d"}},
)
STORAGE = "storage.k8s.io/v1"


def volume(number: int, driver: str, mode: str = "ReadWriteOnce") -> list[Json]:
    """Return a volume and the claim that is bound to it."""
    metadata = {"name": f"c{number}", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    csi = {"driver": driver, "volumeHandle": f"h{number}"}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v{number}"}, "spec": {"csi": csi}},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": {"volumeName": f"v{number}", "accessModes": [mode]},
        },
    ]


def csi_node(name: str, limits: dict[str, int | None]) -> Json:
    drivers = [
        {"name": driver, "nodeID": name, **({} if count is None else {"allocatable": {"count": count}})} for driver, count in limits.items()
    ]
    return {"apiVersion": STORAGE, "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def attachment(node: str, number: int, driver: str) -> Json:
    spec = {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": f"v{number}"}}
    return {"apiVersion": STORAGE, "kind": "VolumeAttachment", "metadata": {"name": f"{node}-{number}"}, "spec": spec}


@st.composite
def with_limits(draw: st.DrawFn, objects: st.SearchStrategy[list[Json]], *, shared: bool) -> list[Json]:
    """Draw a cluster whose pods have volumes; *shared* also between pods, or attached already."""
    cluster: list[Json] = json.loads(json.dumps(draw(objects)))
    added: list[Json] = []
    drivers: list[str] = []

    def new_volume() -> str:
        drivers.append(draw(st.sampled_from(DRIVERS)))
        added.extend(volume(len(drivers) - 1, drivers[-1], draw(st.sampled_from(MODES))))
        return f"c{len(drivers) - 1}"

    pool = [new_volume() for _ in range(draw(st.integers(1, 3)))] if shared else []
    for pod in [each for each in cluster if each["kind"] == "Pod"]:
        claims = [new_volume() for _ in range(draw(st.integers(0, 2)))]
        claims += draw(st.lists(st.sampled_from(pool), max_size=2, unique=True)) if pool else []
        pod["spec"]["volumes"] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
        if shared and not draw(st.integers(0, 3)):
            pod["spec"]["volumes"].append({"name": "disk", **draw(st.sampled_from(DISKS))})
    names = [each["metadata"]["name"] for each in cluster if each["kind"] == "Node"]
    limits = st.dictionaries(st.sampled_from(DRIVERS[:2]), st.sampled_from((0, 1, 2, 3, None)))
    added += [csi_node(name, draw(limits)) for name in names if draw(st.integers(0, 4))]
    if shared and drivers:
        pairs = st.lists(st.tuples(st.sampled_from(names), st.integers(0, len(drivers) - 1)), max_size=4, unique=True)
        added += [attachment(node, number, drivers[number]) for node, number in draw(pairs)]
    return [*cluster, *added]


@RANDOM
@given(with_limits(clusters(), shared=False), st.booleans())
def test_greedy_counts_volumes_of_one_pod(objects, evict):
    assert [] == compare.compare(objects, answer(objects, evict=evict, strategy="greedy"), evict=evict)


@RANDOM
@given(with_limits(clusters(), shared=True), st.booleans())
def test_greedy_counts_shared_and_attached_volumes_once(objects, evict):
    assert [] == compare.compare(objects, answer(objects, evict=evict, strategy="greedy"), evict=evict)


@RANDOM
@given(st.booleans().flatmap(lambda shared: with_limits(clusters(TINY), shared=shared)))
def test_complete_places_what_can_be_placed_and_refutes_the_rest(objects):
    assert [] == compare.compare_complete(objects, answer(objects, strategy="complete"))
