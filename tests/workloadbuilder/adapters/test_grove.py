"""Compiling Grove's PodCliqueSets: four levels, domains, and fields that are lost."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, lost_fields, names, parents, pods, root, sound, sources

SET = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: serve, namespace: ml}
spec:
  replicas: 1
  template:
    cliqueStartupType: CliqueStartupTypeExplicit
    priorityClassName: high
    topologyConstraint: {topologyName: site, pack: {required: zone}}
    cliques:
    - {name: frontend, spec: {roleName: f, replicas: 2, podSpec: {containers: [{name: main, image: frontend}]}}}
    - {name: leader, spec: {roleName: l, replicas: 1, podSpec: {containers: [{name: main, image: decode}]}}}
    - {name: worker, spec: {roleName: w, replicas: 3, minAvailable: 2, startsAfter: [leader], podSpec: {containers: [{name: main, image: decode}]}}}
    podCliqueScalingGroups:
    - {name: decode, cliqueNames: [leader, worker], replicas: 3, minAvailable: 2, topologyConstraint: {pack: {required: rack, preferred: host}}}
"""
TOPOLOGY = """
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: site}
spec: {levels: [{domain: zone, key: topology.kubernetes.io/zone}, {domain: rack, key: example/rack}]}
"""


def test_min_available_is_kept_on_every_level():
    result = sound(SET, further=TOPOLOGY)

    assert {
        "replica": "gang, minGroupCount 2",
        "frontend": "gang, minCount 2",
        "decode": "gang, minGroupCount 2",
        "decode-replica": "gang, minGroupCount 2",
        "leader": "gang, minCount 1",
        "worker": "gang, minCount 2",
    } == {name: blocks["schedulingPolicy"].removesuffix(" (default)") for name, blocks in sources(result).items()}
    assert "high" == root(result)["priorityClassName"]


def test_domains_are_the_labels_of_the_topology():
    result = sound(SET, further=TOPOLOGY)

    assert {"replica": "topology.kubernetes.io/zone (default)", "decode-replica": "example/rack (default)"} == {
        name: blocks["schedulingConstraints"] for name, blocks in sources(result).items() if "schedulingConstraints" in blocks
    }
    assert ["spec.template.cliqueStartupType", "spec.template.podCliqueScalingGroups[0].topologyConstraint.pack.preferred"] == lost_fields(
        result
    )


@pytest.mark.parametrize(
    ("further", "levels", "want"),
    [
        pytest.param(TOPOLOGY.replace("name: site", "name: other"), {}, 2, id="another topology"),
        pytest.param(TOPOLOGY.replace("ClusterTopology", "ClusterTopologyBinding"), {}, 0, id="a binding"),
        pytest.param("", {}, 2, id="no topology"),
        pytest.param("", {"zone": "example/zone"}, 1, id="one is told"),
    ],
)
def test_a_domain_that_is_not_known_is_lost(further, levels, want):
    assert want == sum(path.endswith("topologyConstraint") for path in lost_fields(sound(SET, further=further, levels=levels)))


def test_groups_and_pods_are_named_as_grove_names_them():
    result = sound(SET.replace("  replicas: 1\n", "  replicas: 2\n"), further=TOPOLOGY, groups=True, pods=True)

    assert "serve-decode-replica-0-2" == parents(result)["serve-worker-0-2"]
    assert "serve-decode-0" == parents(result)["serve-decode-replica-0-2"]
    assert "serve-replica-0" == parents(result)["serve-decode-0"]
    assert "serve-worker-0-2" == pods(result)["serve-0-decode-2-worker-1"]
    assert "serve-frontend-1" == pods(result)["serve-1-frontend-0"]
    assert 2 * (2 + 3 * (1 + 3)) == len(pods(result))
    labels = result.objects[-1]["metadata"]["labels"]
    assert ["serve", "serve-1-decode-2-worker", "2", "1", "2"] == [
        labels[name]
        for name in (
            "app.kubernetes.io/part-of",
            "grove.io/podclique",
            "grove.io/podclique-pod-index",
            "grove.io/podcliqueset-replica-index",
            "grove.io/podcliquescalinggroup-replica-index",
        )
    ]
    assert "high" == result.objects[-1]["spec"]["priorityClassName"]


def test_what_is_idle_makes_no_group():
    idle = SET.replace("roleName: f, replicas: 2", "roleName: f, replicas: 0").replace(
        "replicas: 3, minAvailable: 2, topology", "replicas: 0, topology"
    )
    result = sound(idle, further=TOPOLOGY, groups=True)

    assert [] == names(result, "PodGroup")
    assert ["serve-replica"] == names(result, "CompositePodGroup")


def test_without_replicas_there_are_no_groups():
    assert [] == names(sound(SET.replace("  replicas: 1\n", ""), groups=True), "CompositePodGroup")


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(
            ("[leader, worker]", "[leader, workers]"),
            "spec.template.podCliqueScalingGroups[0].cliqueNames[1]: Not found: \"workers\": there must be a clique of this name; did you mean 'worker'?",
            id="a clique that is not there",
        ),
        pytest.param(
            ("[leader, worker]", "[]"),
            "spec.template.podCliqueScalingGroups[0].cliqueNames: Required value: a scaling group must have at least one clique",
            id="no clique",
        ),
        pytest.param(
            ("replicas: 3, minAvailable: 2, topology", "replicas: 1, minAvailable: 2, topology"),
            "spec.template.podCliqueScalingGroups[0].minAvailable: Invalid value: 2: must not be greater than replicas (1)",
            id="more groups than there are",
        ),
        pytest.param(
            ("replicas: 3, minAvailable: 2, startsAfter", "replicas: 1, minAvailable: 2, startsAfter"),
            "spec.template.cliques[2].spec.minAvailable: Invalid value: 2: must not be greater than replicas (1)",
            id="more pods than there are",
        ),
        pytest.param(
            ("name: worker", "name: leader"),
            'spec.template.cliques[2].name: Duplicate value: "leader": already used at spec.template.cliques[1]',
            id="twice",
        ),
        pytest.param(
            ("cliques:", "x:"), "spec.template.cliques: Required value: without a clique there are no pods to schedule", id="no cliques"
        ),
    ],
)
def test_refuses_at_the_users_field(changed, want):
    assert want in error_lines(compiled(SET.replace(*changed), further=TOPOLOGY).errors)


@pytest.mark.parametrize(
    "content", ["7", "[]", "{template: 3}", "{template: {cliques: [3, {spec: 4}], podCliqueScalingGroups: [{cliqueNames: [3]}]}}"]
)
def test_never_raises(content):
    assert compiled(f"apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: a}}\nspec: {content}\n").errors != ()
