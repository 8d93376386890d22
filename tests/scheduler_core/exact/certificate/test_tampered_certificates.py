"""A certificate that was changed is refused by the checker."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import run_cycle
from scheduler_core.model.status import Status
from scheduler_core.wording.changes import remedy_text
from tests.sampling import sampled
from tests.scheduler_core.cp_sat import corpus
from tests.scheduler_core.exact.certificate.checker import accepts
from tests.scheduler_core.exact.certificate.infeasible import COMPLETE, HOPELESS, Certificate, proved, slowly, spread, tree
from tests.scheduler_core.oracle.model import Objects
from tests.scheduler_core.oracle.strategies import TINY, clusters
from tests.scheduler_core.oracle.test_brute import leaf, members, node
from tests.scheduler_core.whatif.cluster import after, remedies


def tampered(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the changeable places of a certificate: every number, name, branch and group."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from tampered(each, (*path, key))


def at(certificate: Certificate, path: tuple[Any, ...]) -> Any:
    for key in path:
        certificate = certificate[key]
    return certificate


def forged(certificate: Certificate, path: tuple[Any, ...], value: Any) -> Certificate:
    """Return *certificate* with another value at one place; None removes it."""
    copied = copy.deepcopy(certificate)
    if value is None:
        del at(copied, path[:-1])[path[-1]]
    else:
        at(copied, path[:-1])[path[-1]] = value
    return copied


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
@pytest.mark.parametrize("step", [1, -1], ids=["more", "less"])
def test_a_proof_with_another_number_in_it_is_refused(objects, step):
    (certificate,) = proved(objects)
    places = [path for path in tampered(certificate) if path[-1] in {"needed", "free"}]
    for path in places:
        assert not accepts(objects, forged(certificate, path, at(certificate, path) + step)), path
    assert places or "each" in certificate["proof"]


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_a_proof_without_one_of_its_parts_is_refused(objects):
    (certificate,) = proved(objects)
    for path in tampered(certificate["proof"], ("proof",)):
        # What is left out of these may leave another proof that is as good.
        if not {"only", "number", "size"} & {path[-1]} and path[-2] not in {"only", "measure"}:
            assert not accepts(objects, forged(certificate, path, None)), path


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_a_way_that_there_is_not_is_refused(objects):
    (certificate,) = proved(objects)
    for path in (path for path in tampered(certificate["proof"], ("proof",)) if path[-1] == "each"):
        options = at(certificate, path)
        assert not accepts(objects, forged(certificate, path, {**options, "more": {"rule": "known", "number": 0}}))


@pytest.mark.parametrize("objects", HOPELESS.values(), ids=HOPELESS.keys())
def test_the_proof_of_another_cluster_is_refused(objects):
    (certificate,) = proved(objects)

    assert not accepts([*objects, node("more", 50, zone="z", rack="r9", block="b")], certificate)


@pytest.mark.parametrize("rule", ["trust", "known", "", None, ["room"]], ids=repr)
def test_a_rule_that_there_is_not_or_that_refers_to_nothing_is_refused(rule):
    objects = HOPELESS["a sum"]
    (certificate,) = proved(objects)

    assert not accepts(objects, {**certificate, "proof": {"rule": rule, "number": 0}})


def test_a_proof_that_refers_to_itself_is_refused():
    objects = HOPELESS["branches"]
    (certificate,) = proved(objects)
    circular = {"rule": "ways", "group": "CompositePodGroup/root", "number": 1, "each": {"": {"rule": "known", "number": 1}}}

    assert not accepts(objects, {**certificate, "proof": circular})


@pytest.mark.parametrize("size", [0, -1, 0.5, "1"], ids=repr)
def test_a_measure_that_is_none_is_refused(size):
    objects = HOPELESS["more large groups than domains"]
    (certificate,) = proved(objects)
    for path in (path for path in tampered(certificate) if path[-1] in {"size", "cpu"}):
        if path[-1] != "size" or at(certificate, path[:-1])["key"]:
            assert not accepts(objects, forged(certificate, path, size))


def test_what_roots_before_were_given_is_reported_next_to_the_proof():
    first = [{**leaf("first", 2, 0), "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}, *members("first", 2)]
    objects = [*spread(racks=1, cpu=2), *first, *tree(3)]
    (certificate,) = proved(objects)

    assert {"default/first-0", "default/first-1"} == set(certificate["beside"])
    assert accepts(objects, certificate)
    assert not accepts(objects, {**certificate, "beside": {}})


def test_members_of_the_root_cannot_be_listed_as_other_pods():
    objects = [*spread(racks=1), *tree(6)]
    own = {f"default/g0-{number}": f"n0{number % 2}" for number in range(6)}
    proof = {"rule": "room", "key": "", "size": 1, "measure": {"cpu": 1000, "pods": 1000}, "needed": 6, "free": 0}
    root = {"kind": "CompositePodGroup", "namespace": "default", "name": "root"}

    assert [] == proved(objects)
    assert not accepts(objects, {"root": root, "empty": False, "beside": own, "proof": proof})


@functools.cache
def infeasible_tree(seed: int) -> tuple[Objects, list[Certificate]]:
    """Return a tree with its certificates; callers must not change them."""
    objects = corpus.instance(seed, corpus.Make(depth=2 + seed % 2, shapes=1 + seed % 3, short=2, moved=seed % 4, decoys=seed % 2))
    return objects, proved(objects)


@settings(deadline=None, max_examples=sampled(150), suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(0, 11))
def test_whatever_is_changed_in_a_proof_that_it_rests_on_it_is_refused(data, seed):
    objects, result = infeasible_tree(seed)
    assume(result)
    certificate = result[0]
    # Another measure, or more groups to look at, may make another proof that is as good.
    remaining = {"only", "number", "size", "measure"}
    paths = [path for path in tampered(certificate["proof"], ("proof",)) if not remaining & set(path[1:])]
    path = data.draw(st.sampled_from(paths))
    before = at(certificate, path)
    value = data.draw(st.one_of(st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=2), st.just({})))
    assume(value != before and (value or before))

    assert not accepts(objects, forged(certificate, path, value)), path


@pytest.mark.parametrize("seed", range(8))
def test_a_proof_is_refused_once_a_remedy_is_applied(seed):
    objects = corpus.instance(seed, corpus.Make(depth=1 + seed % 3, shapes=1 + seed % 2, short=2, moved=seed % 3, largest=6))
    (certificate,) = proved(objects)
    snapshot = load(objects)
    (decision,) = run_cycle(snapshot, COMPLETE).decisions
    result = remedies(objects, snapshot, decision, COMPLETE)

    assert result
    assert accepts(objects, certificate)
    assert [] == [remedy_text(each) for each in result if accepts(after(objects, each.steps), certificate)]


@slowly
@given(clusters(TINY), st.data())
def test_no_proof_is_accepted_of_what_is_placed(objects, data):
    """Any proof of any of these roots is checked against a cluster in which the root is placed."""
    complete = [{"apiVersion": "v1" if each["kind"] in {"Node", "Pod"} else "scheduling.k8s.io/v1alpha3", **each} for each in objects]
    placed = [each.root for each in run_cycle(load(complete), COMPLETE).decisions if each.status is Status.SUCCESS]
    assume(placed)
    name = f"{placed[0].kind}/{placed[0].name}"
    cpu, needed, free = data.draw(st.sampled_from((100, 500, 1000))), data.draw(st.integers(0, 12)), data.draw(st.integers(0, 12))
    capacity = {"rule": "room", "key": data.draw(st.sampled_from(("", "zone", "rack"))), "size": 1, "needed": needed, "free": free}
    proof = {"rule": "ways", "group": name, "each": {}} if data.draw(st.booleans()) else {**capacity, "measure": {"cpu": cpu}}
    root = {"kind": placed[0].kind, "namespace": "default", "name": placed[0].name}

    assert not accepts(objects, {"root": root, "empty": True, "beside": {}, "proof": proof})
