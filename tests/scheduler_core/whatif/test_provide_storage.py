"""Remedies about volumes: every one works when it is applied, and most roots that lack storage have one."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.model.decision import Step
from scheduler_core.model.status import Status
from scheduler_core.whatif.edits.raw_objects import Book
from scheduler_core.whatif.edits.raw_objects import after as forked
from scheduler_core.wording.changes import remedy_text
from tests.sampling import sampled
from tests.scheduler_core.cluster.test_cluster import placement_inputs
from tests.scheduler_core.oracle import strategies
from tests.scheduler_core.oracle.strategies import TINY
from tests.scheduler_core.plugins.test_delayed_claims import SELECTED, capacity, claim, driver, storage_class, volume
from tests.scheduler_core.plugins.test_volumes import csi_node
from tests.scheduler_core.test_attach_limits_agreement import with_limits
from tests.scheduler_core.test_delayed_claims_agreement import clusters
from tests.scheduler_core.test_volumes_agreement import with_claims
from tests.scheduler_core.whatif.cluster import COMPLETE, after, decided, gang, helped, node, not_placed, pod, remedies, waiting

GREEDY = CycleOptions()
LOCAL, DYNAMIC = storage_class(), storage_class("dyn", "csi.example")
RACKS = [node("a1"), node("a2"), node("b1", "r2"), node("b2", "r2")]


def claiming(*claims, name="g-0", group="g", **spec):
    volumes = [{"name": f"v{each}", "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, group, volumes=volumes, **spec)


def each_claiming(count, size="100Gi", storage="local", **spec):
    """Return a gang in one rack whose pods have a claim each."""
    members = [claiming(f"c{number}", name=f"g-{number}", **spec) for number in range(count)]
    return [gang("g", count), *members, *(claim(f"c{number}", size, storage) for number in range(count))]


BOUND = [
    claim("data", volumeName="pv-7", annotations={"pv.kubernetes.io/bind-completed": "yes"}),
    volume("pv-7", "a1", claimRef={"namespace": "default", "name": "data"}),
]
SITUATIONS = {
    "one rack has a volume too few": (
        [LOCAL, volume("pv", "a1", "200Gi"), *each_claiming(2)],
        "1 more local volume of class local with 100Gi in rack r1, on a2",
    ),
    "a rack has no volume": (
        [LOCAL, volume("pv", "a1", "200Gi"), *each_claiming(2, cpu=4)],
        "2 more local volumes of class local with 100Gi in rack r2, on b1 and b2",
    ),
    "a volume is too small": (
        [LOCAL, volume("pv", "a1", "50Gi"), *each_claiming(1)],
        "1 more local volume of class local with 100Gi in rack r1, on a1",
    ),
    "claims of two kinds": (
        [LOCAL, gang("g", 1, ""), claiming("c", "d"), claim("c", "1Gi"), claim("d", "2Gi", selector={"matchLabels": {"disk": "ssd"}})],
        "1 more local volume of class local with 1Gi and 1 more local volume of class local with 2Gi, on a1",
    ),
    "a pod by itself": ([LOCAL, claiming("c", group=""), claim()], "1 more local volume of class local with 5Gi, on a1"),
    "a claim without a size": ([LOCAL, claiming("c", group=""), claim(resources={})], "1 more local volume of class local, on a1"),
    "storage capacity of a domain": (
        [DYNAMIC, driver(), {**capacity("cap", "z1", capacity="40Gi")}, *each_claiming(1, storage="dyn")],
        "storage capacity of class dyn in zone z1 raised from 40Gi to 100Gi",
    ),
    "storage capacity for all volumes": (
        [DYNAMIC, driver(), capacity("cap", "z1", capacity="40Gi"), *each_claiming(2, storage="dyn")],
        "storage capacity of class dyn in zone z1 raised from 40Gi to 200Gi",
    ),
    "largest volume": (
        [DYNAMIC, driver(), capacity("cap", "z1", capacity="1Ti", maximumVolumeSize="40Gi"), *each_claiming(1, storage="dyn")],
        "maximum volume size of class dyn in zone z1 raised from 40Gi to 100Gi",
    ),
    "largest volume, and storage capacity for all volumes": (
        [DYNAMIC, driver(), capacity("cap", "z1", capacity="150Gi", maximumVolumeSize="40Gi"), *each_claiming(2, storage="dyn")],
        (
            "maximum volume size of class dyn in zone z1 raised from 40Gi to 100Gi and "
            "storage capacity of class dyn in zone z1 raised from 150Gi to 200Gi"
        ),
    ),
    "largest volume, and storage capacity that is not known": (
        [DYNAMIC, driver(), capacity("cap", "z1", maximumVolumeSize="40Gi"), *each_claiming(2, storage="dyn")],
        "maximum volume size of class dyn in zone z1 raised from 40Gi to 100Gi",
    ),
    "no storage capacity": (
        [DYNAMIC, driver(), *each_claiming(1, storage="dyn")],
        "storage capacity of class dyn in rack r1 raised to 100Gi",
    ),
    "attach limit": (
        [DYNAMIC, *(csi_node(each, {"csi.example": 1}) for each in ("a1", "a2", "b1", "b2")), *each_claiming(4, storage="dyn", cpu=1)],
        "attach limit of CSI driver csi.example raised from 1 to 2 on a1 and a2",
    ),
    "different attach limits": (
        [DYNAMIC, *(csi_node(f"{rack}{n}", {"csi.example": 2 - n}) for rack in "ab" for n in (1, 2)), *each_claiming(3, storage="dyn")],
        "attach limit of CSI driver csi.example raised by 1 on a1 and a2",
    ),
    "a class like another": ([LOCAL, DYNAMIC, *each_claiming(2, storage="gone")], "StorageClass gone created like dyn"),
    "a class with a known driver": (
        [driver(measured=False), *each_claiming(1, storage="gone")],
        "StorageClass gone created with provisioner csi.example",
    ),
    "a class of existing volumes": (
        [volume("pv", "a1", "100Gi", storageClassName="gone"), *each_claiming(1, storage="gone")],
        "StorageClass gone created with provisioner kubernetes.io/no-provisioner",
    ),
    "allowed topologies": (
        [storage_class("dyn", "csi.example", "z9"), *each_claiming(1, storage="dyn")],
        "allowed topologies of StorageClass dyn dropped",
    ),
    "volume and storage capacity": (
        [LOCAL, DYNAMIC, driver(), gang("g", 1), claiming("c", "d"), claim("c", "1Gi"), claim("d", "2Gi", "dyn")],
        "storage capacity of class dyn in rack r1 raised to 2Gi, and 1 more local volume of class local with 1Gi in rack r1, on a1",
    ),
    "selected node": (
        [DYNAMIC, pod("r", on="a1", cpu=4), gang("g", 1), claiming("c"), claim("c", storage_class="dyn", annotations={SELECTED: "a1"})],
        "selected node of claim default/c (a1) removed",
    ),
    "a bound volume outside the selected nodes": (
        [*BOUND, gang("g", 1), claiming("data", nodeSelector={"rack": "r2"})],
        "node selector of the pods of PodGroup default/g dropped",
    ),
    "a bound volume outside the domain of the group": (
        [*BOUND, gang("g", 2), pod("r", "g", on="b1"), claiming("data")],
        "topology constraint of PodGroup default/g widened from rack to zone (zone)",
    ),
}


@pytest.mark.parametrize("options", [COMPLETE, GREEDY], ids=["complete", "greedy"])
@pytest.mark.parametrize(("objects", "change"), SITUATIONS.values(), ids=SITUATIONS)
def test_each_situation_has_a_verified_remedy(objects, change, options):
    assert change in helped([*RACKS, *objects], options)


def of_rack(name, rack, **fields):
    return {**capacity(name, None, **fields), "nodeTopology": {"matchLabels": {"rack": rack}}}


def anywhere(count):
    """Return a gang without a topology key whose pods have a claim of 100Gi each."""
    return [gang("g", count, ""), *each_claiming(count, storage="dyn")[1:]]


EARLIER = [claiming("first", name="a", group="", priority=9), claim("first", "70Gi", "dyn")]
TOGETHER = {
    "one storage capacity": (
        [capacity("cap", "z1", capacity="150Gi"), *each_claiming(2, storage="dyn")],
        ["in zone z1 raised from 150Gi to 200Gi"],
    ),
    "a maximum volume size that is large enough": (
        [capacity("cap", "z1", capacity="150Gi", maximumVolumeSize="120Gi"), *each_claiming(2, storage="dyn")],
        ["in zone z1 raised from 150Gi to 200Gi"],
    ),
    "each of two racks": (
        [of_rack("a", "r1", capacity="150Gi"), of_rack("b", "r2", capacity="120Gi"), *each_claiming(2, storage="dyn")],
        ["in rack r1 raised from 150Gi to 200Gi", "in rack r2 raised from 120Gi to 200Gi"],
    ),
    "as little as works": (
        [of_rack("a", "r1", capacity="150Gi"), of_rack("b", "r2", capacity="120Gi"), *anywhere(3)],
        ["in rack r1 raised from 150Gi to 200Gi"],
    ),
    "storage of an earlier root": (
        [capacity("cap", "z1", capacity="250Gi"), *EARLIER, *each_claiming(2, storage="dyn")],
        ["in zone z1 raised from 250Gi to 270Gi"],
    ),
}


@pytest.mark.parametrize(("objects", "changes"), TOGETHER.values(), ids=TOGETHER)
def test_claims_that_only_together_exceed_a_storage_capacity(objects, changes):
    objects = [*RACKS, DYNAMIC, driver(), *objects]
    assert changes == [each.partition("class dyn ")[2] for each in helped(objects, COMPLETE) if "storage capacity" in each]
    (decision,) = not_placed(objects)
    for each in remedies(objects, load(objects), decision, COMPLETE):
        raised = [step.apply for step in each.steps if step.apply and step.apply["kind"] == "CSIStorageCapacity"]
        less = [Step(apply={**each, "capacity": str(int(each["capacity"].removesuffix("Gi")) * 2**30 - 1)}) for each in raised]
        assert not less or decided(after(objects, less), COMPLETE)[decision.root].status is not Status.SUCCESS


def test_volumes_that_an_earlier_root_takes_are_added_too():
    earlier = [claiming("first", name="a", group="", priority=9), claim("first", "100Gi")]
    changes = helped([*RACKS, LOCAL, volume("pv", "a1", "100Gi"), *earlier, *each_claiming(1)], COMPLETE)
    assert "1 more local volume of class local with 100Gi in rack r2, on b1" in changes


def test_root_without_claims_has_no_remedy_about_volumes():
    changes = helped([*RACKS, LOCAL, DYNAMIC, claim(), gang("g", 6), *waiting("g", 6)], COMPLETE)
    assert [] == [each for each in changes if "volume" in each or "Storage" in each]


def test_added_volume_can_be_applied():
    objects = [*RACKS, LOCAL, volume("local-a1-added-1", "b1", "1Gi"), claiming("c", group=""), claim(selector={"matchLabels": {"a": "b"}})]
    (decision,) = not_placed(objects)
    (remedy,) = remedies(objects, load(objects), decision, COMPLETE)
    (step,) = remedy.steps
    assert ("local-a1-added-2", {"a": "b"}) == (step.apply["metadata"]["name"], step.apply["metadata"]["labels"])
    assert {"local": {"path": "/mnt/local-a1-added-2"}, "storageClassName": "local", "volumeMode": "Filesystem"}.items() <= step.apply[
        "spec"
    ].items()


@pytest.mark.parametrize(("capacities", "raised"), [({"capacity": "150Gi"}, {"capacity": "200Gi"}), ({}, {})], ids=["known", "not known"])
def test_figures_of_a_storage_capacity_are_raised_as_the_text_says(capacities, raised):
    cap = capacity("cap", "z1", maximumVolumeSize="40Gi", **capacities)
    objects = [*RACKS, DYNAMIC, driver(), cap, *each_claiming(2, storage="dyn")]
    (decision,) = not_placed(objects)
    (step,) = next(each.steps for each in remedies(objects, load(objects), decision, COMPLETE) if "volume size" in remedy_text(each))
    assert {**cap, "maximumVolumeSize": "100Gi", **raised} == step.apply


@pytest.mark.parametrize("name", [name for name in SITUATIONS if "bound" not in name])
def test_reloaded_snapshot_is_that_of_the_changed_objects(name):
    objects = [*RACKS, *SITUATIONS[name][0]]
    (decision,) = not_placed(objects)
    for each in remedies(objects, load(objects), decision, COMPLETE):
        changed = forked(Book(objects).cluster(load(objects)), each.steps)
        if changed.builds_anew:
            assert placement_inputs(load(after(objects, each.steps))) == placement_inputs(changed.snapshot())


def test_node_that_is_added_with_its_attach_limits_is_not_loaded_again():
    limits = [csi_node(f"{rack}{number}", {"csi.example": 1}) for rack in "ab" for number in (1, 2)]
    objects = [*RACKS, DYNAMIC, *limits, *each_claiming(3, storage="dyn")]
    (decision,) = not_placed(objects)
    more = next(each for each in remedies(objects, load(objects), decision, COMPLETE) if "more node" in remedy_text(each))
    changed = forked(Book(objects).cluster(load(objects)), more.steps)
    assert not changed.builds_anew
    assert placement_inputs(load(after(objects, more.steps))) == placement_inputs(changed.snapshot())


@pytest.mark.parametrize(
    ("rack", "present", "name"),
    [("r1", [], "dyn-added-1-r1"), ("Row_1.a", [], "dyn-added-1-row-1-a"), ("r1", [capacity("dyn-added-1-r1", "z9")], "dyn-added-2-r1")],
    ids=["a rack", "a label value that is no name", "a name that exists"],
)
def test_added_storage_capacity_has_a_valid_name_of_its_own(rack, present, name):
    objects = [node("a1", rack), DYNAMIC, driver(), *present, *each_claiming(1, storage="dyn")]
    (decision,) = not_placed(objects)
    (step,) = next(each.steps for each in remedies(objects, load(objects), decision, COMPLETE) if "storage capacity" in remedy_text(each))
    assert (name, {"rack": rack}) == (step.apply["metadata"]["name"], step.apply["nodeTopology"]["matchLabels"])


RANDOM = settings(max_examples=sampled(60), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("options", [COMPLETE, GREEDY, CycleOptions(strategy="complete", evict=True)], ids=["complete", "greedy", "evict"])
@RANDOM
@given(
    st.one_of(
        clusters(),
        with_limits(strategies.clusters(TINY), shared=True),
        with_claims(strategies.clusters(TINY)).map(lambda both: both[0]),
    )
)
def test_every_remedy_applied_is_placed(options, objects):
    for decision in not_placed(objects, options):
        for each in remedies(objects, load(objects), decision, options):
            assert decided(after(objects, each.steps), options)[decision.root].status is each.then, remedy_text(each)


def test_nine_of_ten_roots_that_lack_storage_have_a_remedy():
    met = []

    @seed(1)
    @settings(
        max_examples=sampled(150, least=50), deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(clusters(plain=True))
    def meet(objects):
        snapshot = load(objects)
        met.extend(bool(remedies(objects, snapshot, decision, COMPLETE)) for decision in not_placed(objects))

    meet()
    assert len(met) > sampled(30, least=8)
    assert sum(met) >= 0.9 * len(met)
