"""Strategies of trees of items, valid ones and ones with one or two planted errors."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

from kubeapi.field_path import FieldPath
from kubeapi.versions.kubernetes_releases import TODAY
from tests.workloadbuilder.trees import ALL, JOB, SCHEDULING, SINGLE, WITH_UID, basic, gang, intent
from workloadbuilder.builder import BuildOptions
from workloadbuilder.workload_item import Block, DisruptionMode, PolicyKind, ResourceClaim, SchedulingConfig, UserIntent, WorkloadItem

CLAIMS = tuple(ResourceClaim(f"claim-{number}", resource_claim_template_name="template") for number in range(5))


def seven(item, config):
    """Fill in open values, as controllers do."""
    policy = config.policy
    if policy is not None and policy.kind is PolicyKind.GANG and policy.minimum is None:
        return dataclasses.replace(config, policy=gang(7))
    return config


def raises(item, config):
    raise RuntimeError("no")


def nothing(item, config):
    return None


@st.composite
def sound_trees(draw, most_levels: int = 4, kubernetes: int = TODAY):
    """Draw a valid tree of Kubernetes 1.*kubernetes*."""
    priority = draw(
        st.sampled_from([{}, {"priority_class_name": "high"}, {"priority": 0}, {"priority_class_name": "high", "priority": 10**9}])
    )
    style = draw(st.sampled_from(["t{0}", "t-{0}", "t-{0}-0"]))
    numbers = itertools.count()

    def node(level: int, above: DisruptionMode | None, *, in_gang: bool) -> WorkloadItem:
        number = next(numbers)
        is_composite = level < most_levels and draw(st.integers(0, 3)) > level - 2
        wants_all = above is ALL or draw(st.integers(0, 3)) == 3
        policy = draw(
            st.sampled_from(
                [gang(), gang(1), gang(2**31 - 1)] if wants_all else [gang(), gang(4)] if in_gang else [None, basic(), gang(), gang(4)]
            )
        )
        mode = ALL if wants_all else draw(st.sampled_from([None, SINGLE]))
        topology = draw(st.sampled_from([None, (), ("zone",), ("topology.kubernetes.io/rack",)]))
        claims = None if is_composite else CLAIMS[: draw(st.sampled_from([0, 0, 1, 4]))]
        chosen = SchedulingConfig(policy, topology, mode, claims)
        users = draw(st.booleans())
        below_gang = kubernetes >= 38 and policy is not None and policy.kind is PolicyKind.GANG
        children = tuple(node(level + 1, mode, in_gang=below_gang) for _ in range(draw(st.integers(1, 3)))) if is_composite else ()
        return WorkloadItem(
            style.format(number),
            FieldPath("spec", "jobs", number),
            default=SchedulingConfig(basic()) if users and policy else SchedulingConfig() if users else chosen,
            intent=intent(chosen, composite=is_composite) if users else UserIntent(),
            callbacks=(seven,),
            children=children,
            replicas=draw(st.sampled_from([1, 1, 1, 2, 3, 0])),
            **priority,
        )

    return node(1, None, in_gang=False)


def _set(**changed) -> Callable[[WorkloadItem], WorkloadItem]:
    return lambda item: dataclasses.replace(item, **changed)


def _default(**changed) -> Callable[[WorkloadItem], WorkloadItem]:
    return lambda item: dataclasses.replace(item, intent=UserIntent(), default=dataclasses.replace(item.default, **changed))


def _nested(levels: int) -> Callable[[WorkloadItem], WorkloadItem]:
    def nest(item: WorkloadItem) -> WorkloadItem:
        for level in range(levels):
            item = WorkloadItem(f"around-{level}", children=(item,), priority=item.priority, priority_class_name=item.priority_class_name)
        return item

    return nest


def _many(count: int, **shared) -> Callable[[WorkloadItem], WorkloadItem]:
    def add(item: WorkloadItem) -> WorkloadItem:
        pair = {"priority": item.priority, "priority_class_name": item.priority_class_name}
        children = tuple(WorkloadItem(f"child-{number}", **pair, **shared) for number in range(count))
        return dataclasses.replace(item, children=(*item.children, *children))

    return add


FAULTS: dict[str, Callable[[WorkloadItem], WorkloadItem]] = {
    "no name": _set(name=""),
    "illegal name": _set(name="Driver"),
    "long name": _set(name="x" * 64),
    "name with a number": _set(name="t-1"),
    "name of another": _set(name="t0"),
    "priority of its own": _set(priority=5),
    "class of its own": _set(priority_class_name="other"),
    "system class": _set(priority_class_name="system-node-critical"),
    "high priority": _set(priority=10**9 + 1),
    "negative replicas": _set(replicas=-1),
    "raises": _set(callbacks=(raises,)),
    "answers with nothing": _set(callbacks=(nothing,)),
    "no callback": _set(callbacks=()),
    "all": _default(disruption_mode=ALL),
    "single": _default(disruption_mode=SINGLE),
    "basic": _default(policy=basic()),
    "minimum 0": _default(policy=gang(0)),
    "minimum that does not fit": _default(policy=gang(2**31)),
    "two keys": _default(topology=("zone", "rack")),
    "illegal key": _default(topology=("a/b/c",)),
    "empty key": _default(topology=("",)),
    "five claims": _default(resource_claims=CLAIMS),
    "one claim": _default(resource_claims=CLAIMS[:1]),
    "claim without source": _default(resource_claims=(ResourceClaim("fabric"),)),
    "claim without name": _default(resource_claims=(ResourceClaim("", "fabric"),)),
    "claim twice": _default(resource_claims=CLAIMS[:1] * 2),
    "other level": lambda item: dataclasses.replace(
        item, intent=UserIntent(SchedulingConfig(basic()), ((Block.POLICY, SCHEDULING),), composite=not item.children)
    ),
    "around it one level": _nested(1),
    "around it three levels": _nested(3),
    "eight children": _many(8),
    "nine children": _many(9),
    "a child that is one of two": _many(1, replicas=2),
}


def _planted(item: WorkloadItem, place: Iterator[int], fault: Callable[[WorkloadItem], WorkloadItem], at: int) -> WorkloadItem:
    mine = next(place)
    changed = dataclasses.replace(item, children=tuple(_planted(child, place, fault, at) for child in item.children))
    return fault(changed) if mine == at else changed


def faulty_trees():
    """Draw a tree with an error planted at one or two of its first items."""
    planted = st.lists(st.tuples(st.sampled_from(sorted(FAULTS)), st.integers(0, 5)), min_size=1, max_size=2)

    def plant(tree: WorkloadItem, faults: list[tuple[str, int]]) -> WorkloadItem:
        for name, at in faults:
            tree = _planted(tree, itertools.count(), FAULTS[name], at)
        return tree

    return st.builds(plant, sound_trees(), planted)


def options(kubernetes: int = TODAY):
    """Draw options that allow everything, of an owner with or without a uid, in either version of the API."""
    return st.builds(
        BuildOptions,
        st.sampled_from(["train", "", "x" * 253]),
        st.just("research"),
        st.sampled_from([JOB, WITH_UID]),
        st.just(frozenset(PolicyKind)),
        st.just(frozenset(DisruptionMode)),
        st.sampled_from(["v1beta1", "v1alpha3"]),
        st.just(kubernetes),
    )
