"""What is proved to have no placement is so for a checker of its own, and a proof that was tampered with is none."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from scheduler_core.cycle import CycleOptions, run_cycle
from scheduler_core.load import load
from scheduler_core.proofs import certificates
from tests.scheduler_core.certificate.checker import RefusedError, check
from tests.scheduler_core.exact import corpus
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.oracle.test_brute import composite, leaf, members, node

slowly = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
COMPLETE = CycleOptions(strategy="complete")


def proved(objects: Objects) -> list[dict[str, Any]]:
    """The certificates of one cycle, as they are read from a file."""
    complete = [{"apiVersion": "v1" if each["kind"] in {"Node", "Pod"} else "scheduling.k8s.io/v1alpha3", **each} for each in objects]
    snapshot = load([json.dumps(each).encode() for each in complete])
    found = certificates(snapshot, run_cycle(snapshot, COMPLETE).decisions, COMPLETE)
    return [json.loads(json.dumps(each)) for each in found]


def spread(*, racks: int = 3, cpu: int = 3) -> Objects:
    """Nodes in racks, two a rack."""
    return [node(f"n{rack}{number}", cpu, zone="z", rack=f"r{rack}") for rack in range(racks) for number in range(2)]


def tree(*needs: int, cpu: int = 1, minimum: int = 0) -> Objects:
    """A leaf for each of *needs*, one rack for each."""
    leaves = [leaf(f"g{number}", need, number, "rack") for number, need in enumerate(needs)]
    return [
        composite(minimum or len(needs)),
        *leaves,
        *(pod for number, need in enumerate(needs) for pod in members(f"g{number}", need, cpu)),
    ]


HOPELESS = {
    "a sum": [*spread(racks=1), *tree(4, 4)],
    "more large groups than domains": [*spread(racks=2), *tree(4, 4, 4)],
    "too few slots": [*spread(racks=2), *tree(3, 1, cpu=2)],
    "pods of two shapes that cannot be packed": [
        node("n1", 5),
        node("n2", 5),
        composite(2),
        leaf("a", 2, 0),
        leaf("b", 2, 1),
        *members("a", 2, 3),
        *members("b", 2, 2)[:1],
        *members("b", 2, 3)[1:],
    ],
    "branches": [*spread(racks=3, cpu=2), *tree(3, 3, 2, 2, 2)],
    "a quorum": [*spread(racks=2, cpu=2), *tree(3, 3, 3, 5, minimum=3)],
}


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_a_proof_is_accepted(objects):
    (certificate,) = proved(objects)

    check(objects, certificate)
    assert "rule" in certificate["proof"]


def tampered(proof: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a proof that can be changed: every number that is compared, every domain and branch."""
    for key, value in proof.items() if isinstance(proof, dict) else enumerate(proof) if isinstance(proof, list) else ():
        if key in {"needed", "free", "groups", "most"} or (path and path[-1] in {"domains", "each"} and isinstance(value, dict)):
            yield (*path, key)
        yield from tampered(value, (*path, key))


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_a_proof_with_a_number_changed_or_a_branch_dropped_is_refused(objects):
    (certificate,) = proved(objects)
    places = list(tampered(certificate["proof"]))
    for path in places:
        forged = copy.deepcopy(certificate)
        at = forged["proof"]
        for key in path[:-1]:
            at = at[key]
        if isinstance(at[path[-1]], int):
            at[path[-1]] += 1
        else:
            del at[path[-1]]

        with pytest.raises(RefusedError):
            check(objects, forged)
    assert places or certificate["proof"]["rule"] == "packing"


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_the_proof_of_another_cluster_is_refused(objects):
    (certificate,) = proved(objects)

    with pytest.raises(RefusedError):
        check([*objects, node("more", 50, zone="z", rack="r9")], certificate)


def test_a_rule_that_there_is_not_is_refused():
    objects = HOPELESS["a sum"]
    (certificate,) = proved(objects)

    with pytest.raises(RefusedError):
        check(objects, {**certificate, "proof": {"rule": "trust"}})


def test_what_roots_before_were_given_is_told_beside_the_proof():
    first = [{**leaf("first", 2, 0), "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}, *members("first", 2)]
    objects = [*spread(racks=1, cpu=2), *first, *tree(3)]
    (certificate,) = proved(objects)

    assert {"default/first-0", "default/first-1"} == set(certificate["beside"])
    check(objects, certificate, certificate["beside"])
    with pytest.raises(RefusedError):
        check(objects, certificate)


@slowly
@given(clusters(TINY))
def test_every_proof_of_a_tiny_cluster_is_accepted(objects):
    for certificate in proved(objects):
        check(objects, certificate, certificate["beside"])


@pytest.mark.parametrize("seed", range(12))
def test_every_proof_of_a_hard_tree_is_accepted(seed):
    objects = corpus.instance(seed, corpus.Make(depth=2 + seed % 2, shapes=1 + seed % 3, short=2, largest=5, decoys=seed % 3))
    for certificate in proved(objects):
        if certificate["root"]["name"] == "t":
            check(objects, certificate, certificate["beside"])
