"""Claims to devices and to volumes that several pods of a gang use: no wrong verdict, compared with all assignments of small clusters."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.model.decision import Status
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, decided, leaf, node, placed, pod
from tests.scheduler_core.exact.devices.test_with_volumes import CLASS, Volume, claim, volume
from tests.scheduler_core.plugins.device_objects import (
    DRIVER,
    device,
    device_class,
    device_slice,
    request,
    resource_claim,
    template,
    wanting,
)

ONCE, MANY = "ReadWriteOncePod", "ReadWriteMany"


@dataclasses.dataclass(frozen=True)
class Member:
    """Pod of the gang: number of its own devices, which have one value of numa; whether it uses the shared device; its volume claim."""

    own: int
    shares: bool
    claim: int | None


@dataclasses.dataclass(frozen=True)
class Running:
    """Running pod of low priority on the first node; the first claim is bound for it, and it has the first device if it *holds* one."""

    reached: frozenset[int]
    holds: bool


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Nodes by the values of numa of their devices, free volumes, modes of the claims to them, and pods."""

    nodes: Sequence[Sequence[int]]
    volumes: Sequence[Volume]
    modes: Sequence[str]
    running: Running | None
    members: Sequence[Member]


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    count = draw(st.integers(2, 3))
    nodes = [tuple(draw(st.integers(0, 1)) for _ in range(draw(st.integers(0, 3)))) for _ in range(count)]
    reached = st.frozensets(st.integers(0, count - 1), min_size=1)
    volumes = [(draw(st.sampled_from((5, 20))), draw(reached)) for _ in range(draw(st.integers(1, 3)))]
    modes = [draw(st.sampled_from((ONCE, MANY))) for _ in range(2)]
    running = Running(draw(reached) | {0}, draw(st.booleans())) if draw(st.integers(0, 2)) == 0 else None
    members = [
        Member(draw(st.sampled_from((0, 1, 2))), draw(st.booleans()), draw(st.sampled_from((None, 0, 0, 1))))
        for _ in range(draw(st.integers(2, 3)))
    ]
    return Cluster(nodes, volumes, modes, running, members)


def objects(cluster: Cluster) -> list[Json]:
    pair = template("t2", request(count=2))
    pair["spec"]["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/numa"}]
    group = leaf("g", len(cluster.members), priority=10)
    found = [CLASS, device_class(), template("t1", request()), pair, resource_claim("shared", request()), group]
    for number, values in enumerate(cluster.nodes):
        devices = [device(f"d{each}", {"numa": value}) for each, value in enumerate(values)]
        found += [node(f"n{number}", cpu="2"), *([device_slice(f"n{number}", *devices)] if devices else [])]
    found += [_volume(number, *each) for number, each in enumerate(cluster.volumes)]
    for number, mode in enumerate(cluster.modes):
        made = claim(number, 5)
        found.append(made | {"spec": made["spec"] | {"accessModes": [mode]}})
    for number, each in enumerate(cluster.members):
        entries = [*(["s=shared"] if each.shares else []), *([f"g:t{each.own}"] if each.own else [])]
        more: Json = {"priority": 10} | ({} if each.claim is None else {"volumes": [_mounted(each.claim)]})
        found.append(wanting(f"p{number}", *entries, group="g", **more) if entries else pod(f"p{number}", "g", **more))
    if cluster.running is not None:
        _run(found, cluster.running, holds=cluster.running.holds and bool(cluster.nodes[0]))
    return found


def _volume(number: int, size: int, nodes: frozenset[int]) -> Json:
    made = volume(number, size, nodes)
    return made | {"spec": made["spec"] | {"accessModes": [ONCE, MANY]}}


def _run(found: list[Json], running: Running, *, holds: bool) -> None:
    bound = _volume(9, 5, running.reached)
    bound["spec"]["claimRef"], bound["status"] = {"namespace": "default", "name": "c0"}, {"phase": "Bound"}
    used = next(each for each in found if each["metadata"]["name"] == "c0")
    used["spec"]["volumeName"], used["status"] = "v9", {"phase": "Bound"}
    used["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    entries = {"resourceClaims": [{"name": "x", "resourceClaimName": "held"}]} if holds else {}
    found += [bound, pod("low", on="n0", cpu="0", priority=0, volumes=[_mounted(0)], **entries)]
    if holds:
        found.append(resource_claim("held", request(), devices=["gpu=n0/d0"], users=["low"]))


def _mounted(number: int) -> Json:
    return {"name": "v", "persistentVolumeClaim": {"claimName": f"c{number}"}}


def exists(cluster: Cluster, *, alone: bool = False) -> bool:
    """Return whether all members fit, by trying all nodes, volumes and devices; *alone*: without the running pod."""
    choices = itertools.product(range(len(cluster.nodes)), repeat=len(cluster.members))
    return any(is_possible(cluster, where, alone=alone) for where in choices)


def is_possible(cluster: Cluster, where: Sequence[int], *, alone: bool = False) -> bool:
    """Return whether the members can be on the nodes *where*; *alone*: without the running pod."""
    there = None if alone else cluster.running
    sharing = {at for each, at in zip(cluster.members, where, strict=True) if each.shares}
    if max(Counter(where).values()) > 2 or len(sharing) > 1 or not _have_volumes(cluster, where, beside=there is not None):
        return False
    for at, values in enumerate(cluster.nodes):
        free = values[1:] if there is not None and there.holds and at == 0 else values
        counts = [each.own for each, on in zip(cluster.members, where, strict=True) if on == at and each.own]
        if not any(_have_devices(counts, rest) for rest in _without_shared(free, taken=at in sharing)):
            return False
    return True


def _have_volumes(cluster: Cluster, where: Sequence[int], *, beside: bool) -> bool:
    """Return whether the claims to volumes can be used; *beside*: besides the running pod."""
    users = {number: [at for each, at in zip(cluster.members, where, strict=True) if each.claim == number] for number in range(2)}
    for number, mode in enumerate(cluster.modes):
        if mode == ONCE and users[number] and len(users[number]) + (beside and number == 0) > 1:
            return False
    if cluster.running is not None and not set(users.pop(0)) <= cluster.running.reached:
        return False
    wanted = [frozenset(nodes) for nodes in users.values() if nodes]
    return any(
        all(nodes <= reached for nodes, (_, reached) in zip(wanted, chosen, strict=True))
        for chosen in itertools.permutations(cluster.volumes, len(wanted))
    )


def _without_shared(values: Sequence[int], *, taken: bool) -> Iterator[list[int]]:
    if not taken:
        yield [*values]
        return
    for number in range(len(values)):
        yield [value for at, value in enumerate(values) if at != number]


def _have_devices(counts: Sequence[int], values: Sequence[int]) -> bool:
    if not counts:
        return True
    return any(
        len({values[each] for each in chosen}) == 1
        and _have_devices(counts[1:], [value for number, value in enumerate(values) if number not in chosen])
        for chosen in itertools.combinations(range(len(values)), counts[0])
    )


@given(clusters())
@settings(max_examples=sampled(3000, share=10), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_verdict_about_a_gang_with_shared_claims_is_wrong(cluster):
    decision = decided(objects(cluster), strategy="complete")
    if decision.status is Status.SUCCESS:
        where = placed(decision)
        assert is_possible(cluster, [int(where[f"p{number}"][1:]) for number in range(len(cluster.members))])
    else:
        assert decision.search.outcome != "infeasible" or not exists(cluster)
        assert decision.status is not Status.UNRESOLVABLE or not exists(cluster, alone=True)
        assert not decision.victims or exists(cluster, alone=True)


def test_claim_that_a_running_pod_blocks_is_freed_by_its_eviction_beside_another_claim():
    """Both pods must be on the node with devices; each has a claim that limits it to one pod there."""
    running = Running(frozenset({0, 2}), holds=False)
    members = [Member(1, shares=False, claim=0), Member(1, shares=False, claim=1)]
    cluster = Cluster([(), (), (1, 1, 1)], [(20, frozenset({0, 1, 2}))], [ONCE, ONCE], running, members)
    decision = decided(objects(cluster), strategy="complete")
    assert (Status.UNSCHEDULABLE, ("default/low",)) == (decision.status, decision.victims)


def test_root_that_the_search_does_not_model_is_left_open_and_says_so():
    members = [Member(2, shares=True, claim=0), Member(1, shares=False, claim=0)]
    cluster = Cluster([(1, 0), (0, 0, 0)], [(5, frozenset({1})), (5, frozenset({0, 1}))], [MANY, MANY], None, members)
    decision = decided(objects(cluster), strategy="complete")
    assert exists(cluster)
    assert (Status.UNSCHEDULABLE, "not-searched", ()) == (decision.status, decision.search.outcome, decision.victims)
    assert "may have missed a placement" in decision.message
