"""Pods with bound claims compared with equal pods whose node affinity says the same, by the oracle and by brute force."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.scheduler_core.oracle import compare
from tests.scheduler_core.oracle.strategies import RACKS, TINY, ZONES, clusters
from tests.scheduler_core.test_agreement import RANDOM, Json, answer

ZONE = "topology.kubernetes.io/zone"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def one_of(key: str, *values: str) -> Json:
    return {"key": key, "operator": "In", "values": list(values)}


NO_ZONE = [{"key": key, "operator": "DoesNotExist"} for key in (ZONE, BETA_ZONE)]
AFFINITIES = (
    [[one_of(HOSTNAME, "n0")]],
    [[one_of(HOSTNAME, "n1", "n2")]],
    [[one_of("zone", ZONES[0])]],
    [[one_of("rack", RACKS[0])], [one_of("zone", ZONES[1]), one_of("rack", RACKS[1])]],
)
"""Terms of a volume's node affinity."""
ZONED = {
    "z1": [[one_of(ZONE, "z1")], NO_ZONE],
    "z1__z2": [[one_of(ZONE, "z1", "z2")], NO_ZONE],
    "z3": [[one_of(ZONE, "z3")], NO_ZONE],
}
"""Terms that mean the same as a volume's zone label."""
BETA = [[one_of(BETA_ZONE, "z2")], [NO_ZONE[1], one_of(ZONE, "z2")], NO_ZONE]
"""Terms that mean the same as a beta zone label with the value z2."""


def volume(name: str, labels: dict[str, str], terms: list[list[Json]]) -> list[Json]:
    """Return a volume and the claim that is bound to it."""
    metadata = {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}}} if terms else {}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{name}", "labels": labels}, "spec": affinity},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {"volumeName": f"pv-{name}"}},
    ]


CLAIMS: dict[str, list[list[Json]]] = {"free": []}
VOLUMES: list[Json] = volume("free", {}, [])
for number, expressions in enumerate(AFFINITIES):
    CLAIMS[f"local-{number}"] = expressions
    VOLUMES += volume(f"local-{number}", {}, expressions)
for value, expressions in ZONED.items():
    CLAIMS[f"zone-{value}"] = expressions
    VOLUMES += volume(f"zone-{value}", {ZONE: value}, [])
CLAIMS["beta"] = BETA
VOLUMES += volume("beta", {BETA_ZONE: "z2"}, [])


@st.composite
def with_claims(draw: st.DrawFn, objects: st.SearchStrategy[list[Json]]) -> tuple[list[Json], list[Json]]:
    """Draw a cluster whose pending pods use claims, and the same cluster with node affinity in place of the claims."""
    # Equal pods share parts of their specs, so the objects are copied as text.
    text = json.dumps(draw(objects))
    bound, similar = json.loads(text), json.loads(text)
    for node in [pair for pair in zip(bound, similar, strict=True) if pair[0]["kind"] == "Node"]:
        for key, zone in draw(st.dictionaries(st.sampled_from((ZONE, BETA_ZONE)), st.sampled_from(("z1", "z2")))).items():
            for each in node:
                each["metadata"]["labels"][key] = zone
    for pod, other in zip(bound, similar, strict=True):
        if pod["kind"] == "Pod" and not pod["spec"].get("nodeName"):
            claims = draw(st.lists(st.sampled_from(sorted(CLAIMS)), max_size=2))
            pod["spec"]["volumes"] = [{"name": f"v{each}", "persistentVolumeClaim": {"claimName": each}} for each in claims]
            require(other, [CLAIMS[each] for each in claims if CLAIMS[each]])
    return [*bound, *VOLUMES], similar


def require(pod: Json, needs: list[list[list[Json]]]) -> None:
    """Add to the node affinity of *pod* that one term of each of *needs* must match."""
    affinity: dict[str, Any] = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms = required.get("nodeSelectorTerms") or [{}]
    for need in needs:
        terms = [
            {**term, "matchExpressions": [*term.get("matchExpressions", []), *expressions]}
            for term, expressions in itertools.product(terms, need)
        ]
    required["nodeSelectorTerms"] = terms
    if terms == [{}]:
        del affinity["requiredDuringSchedulingIgnoredDuringExecution"]


@RANDOM
@given(with_claims(clusters()), st.booleans())
def test_greedy_decides_as_if_the_volumes_were_node_affinity(both, evict):
    bound, similar = both
    assert [] == compare.compare(similar, answer(bound, evict=evict, strategy="greedy"), evict=evict)


@RANDOM
@given(with_claims(clusters(TINY)))
def test_complete_places_what_can_be_placed_and_refutes_the_rest(both):
    bound, similar = both
    assert [] == compare.compare_complete(similar, answer(bound, strategy="complete"))
