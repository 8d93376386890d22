"""Namespace selectors of affinity terms, with the labels of Namespaces."""

from __future__ import annotations

import itertools
import random

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle import run_cycle
from scheduler_core.cycle.run_cycle import CycleOptions
from tests.sampling import sampled
from tests.scheduler_core.builders import Json, decided, node, placed, pod, reasons_of
from tests.scheduler_core.sidecar.histories import Watched
from tests.scheduler_core.sidecar.test_label_stores import decisions
from tests.scheduler_core.worded_problems import worded

HOST = "kubernetes.io/hostname"
TEAMS = {"default": {"team": "a"}, "other": {"team": "b"}, "third": {}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def namespace(name: str, labels: Json) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def of(name: str, team: str = "", *, side: str = "podAntiAffinity", where: str = "default", **more) -> Json:
    """Return a pod that must not be near, or must be near, the pods of a team."""
    selector = {"matchLabels": {"team": team}}
    term = {"topologyKey": HOST, "labelSelector": {}, "namespaceSelector": selector}
    made = pod(name, **({"affinity": {side: {REQUIRED: [term]}}} if team else {}), **more)
    made["metadata"]["namespace"] = where
    return made


NODES = [node("n0", cpu="64", memory="256Gi"), node("n1")]
NAMESPACES = [namespace(name, labels) for name, labels in TEAMS.items()]


@pytest.mark.parametrize(
    ("comer", "want"),
    [
        pytest.param(of("p", "b"), "n1", id="far from a team"),
        pytest.param(of("p", "c"), "n0", id="far from a team without a namespace"),
        pytest.param(of("p", "b", side="podAffinity"), "n0", id="near a team"),
        pytest.param(of("p", "c", side="podAffinity"), None, id="near a team without a namespace"),
    ],
)
def test_pods_of_selected_namespaces_count(comer, want):
    objects = [*NODES, *NAMESPACES, of("x", where="other", on="n0"), comer]

    assert () == load(objects).problems
    assert ({"p": want} if want else {}) == placed(decided(objects, strategy="greedy"))


def test_running_pods_refuse_pods_of_selected_namespaces():
    objects = [*NODES, *NAMESPACES, of("x", "a", where="other", on="n0")]

    assert {"p": "n1"} == placed(decided([*objects, of("p")], strategy="greedy"))
    assert {"p": "n0"} == placed(decided([*objects, of("p", where="third")], strategy="greedy"))


def test_without_a_namespace_such_a_pod_is_not_placed():
    objects = [*NODES, *NAMESPACES[:1], of("x", where="other", on="n0"), of("p", "b")]
    field = f"spec.affinity.podAntiAffinity.{REQUIRED}[0].namespaceSelector"
    (problem,) = worded(load(objects).problems)

    assert problem.object == "Pod default/p"
    assert problem.message == f"{field} needs the labels of all namespaces with pods; there is no Namespace other: add it to the objects"
    assert f"{field} can exclude nodes and is not modelled" in reasons_of(decided(objects))["default/p"]
    assert {"p": "n0"} == placed(decided([*objects], strategy="greedy", ignore=frozenset({field})))


SELECTORS = (
    {"matchLabels": {"team": "a"}},
    {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
    {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["third"]}, {"key": "team", "operator": "DoesNotExist"}]},
)  # fmt: skip
SELECTED = (["default"], ["default", "other"], ["other", "third"], ["third"])
"""Namespaces that SELECTORS select."""


def cluster(chance: random.Random, *, by_name: bool) -> list[Json]:
    """Return nodes, running and pending pods; selectors of their terms are written as names if *by_name*."""
    objects = [node(f"n{number}") for number in range(3)]
    for number in range(8):
        name, where = f"p{number}", chance.choice(sorted(TEAMS))
        more: Json = {"on": f"n{chance.randrange(3)}"} if number < 4 else {}
        kind, side = chance.randrange(4), chance.choice(("podAffinity", "podAntiAffinity"))
        selected = {"namespaces": SELECTED[kind]} if by_name else {"namespaceSelector": SELECTORS[kind]}
        term = {"topologyKey": HOST, "labelSelector": {}, **selected}
        required = {REQUIRED: [term]} if chance.random() < 0.5 else {PREFERRED: [{"weight": 3, "podAffinityTerm": term}]}
        made = pod(name, cpu="100m", **({"affinity": {side: required}} if chance.random() < 0.7 else {}), **more)
        made["metadata"] |= {"namespace": where, "creationTimestamp": f"2026-08-01T00:00:0{number}Z"}
        objects.append(made)
    return [*objects, *NAMESPACES]


def test_selectors_select_the_same_as_names():
    for seed in range(sampled(200)):
        named, selected = (load(cluster(random.Random(seed), by_name=by_name)) for by_name in (True, False))
        results = [run_cycle.run_cycle(each, CycleOptions()).decisions for each in (named, selected)]
        assert [each.assignments for each in results[0]] == [each.assignments for each in results[1]], seed


def test_labels_of_a_live_namespace_change():
    watched = Watched(*NODES, *NAMESPACES, of("x", where="other", on="n0"), of("p", "b"))
    for labels, want in itertools.chain(((TEAMS["other"], "n1"), ({"team": "c"}, "n0"), ({}, "n0"), (TEAMS["other"], "n1"))):
        watched.happens(namespace("other", labels))
        assert {"default/p": want} == decisions(watched), labels
    watched.happens(("Namespace", "", "other"))
    assert "other" not in watched.store.snapshot().namespaces
    assert {"default/p": "n0"} == decisions(watched)
