"""Other controllers: claim templates of ComputeDomains, pod groups of Kueue, topologies of KAI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from tests.muster.simulated import RACK, node, pod
from tests.muster.test_own_groups import fit
from tests.muster.test_simulate_controllers import RUN_ONCE, job, manifest, simulated
from tests.scheduler_core.plugins.device_objects import device_class, device_slice

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
NODES = [node("n1", **{RACK: "a"}), node("n2", **{RACK: "b"})]
"""Each has room for two pods of a Job."""
CHANNEL = "compute-domain-default-channel.nvidia.com"


def compute_domain(template: str, namespace: str = "default") -> Json:
    domain = manifest(
        "ComputeDomain", "resource.nvidia.com/v1beta1", "domain", channel={"resourceClaimTemplate": {"name": template}}, numNodes=2
    )
    domain["metadata"]["namespace"] = namespace
    return domain


def claiming(template: str) -> Json:
    claims = {"resourceClaims": [{"name": "channel", "resourceClaimTemplateName": template}]}
    return manifest("Job", "batch/v1", "j", parallelism=2, completions=2, template={**RUN_ONCE, "spec": {**RUN_ONCE["spec"], **claims}})


def channels() -> list[Json]:
    return [device_class(CHANNEL), *(device_slice(name, "channel-0") for name in ("n1", "n2"))]


@pytest.mark.parametrize("at_path", [True, False], ids=["at PATH", "in the cluster"])
@pytest.mark.parametrize("template", ["channel", "a-b.c"])
def test_a_compute_domain_creates_the_claim_template_that_it_names(template, at_path):
    """Each node has one channel, so each pod has a node of its own."""
    mine, cluster = [claiming(template)], [*NODES, *channels()]
    (mine if at_path else cluster).append(compute_domain(template))

    status, answer = fit(mine, cluster)
    assert (0, "fits", []) == (status, answer["verdict"], answer["skipped"])
    assert {"n1", "n2"} == set(answer["decisions"][0]["assignments"].values())


@pytest.mark.parametrize(
    "domain", [compute_domain("chanel"), compute_domain("channel", "other")], ids=["another name", "another namespace"]
)
def test_a_template_that_no_compute_domain_names_is_missing(domain):
    status, answer = fit([claiming("channel"), domain], [*NODES, *channels()])

    assert (1, "does-not-fit") == (status, answer["verdict"])
    assert "there is no ResourceClaimTemplate default/channel" in answer["message"]


def of_kueue(name: str, group: str = "grp", total: str = "4", **status: Any) -> Json:
    made = pod(name, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    made["metadata"]["labels"] = {"kueue.x-k8s.io/pod-group-name": group}
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": total}
    return {**made, "status": status} if status else made


INCOMPLETE = {
    "one is missing": ([of_kueue(f"k{number}") for number in range(3)], "3 of 4 pods", "create the missing pod,"),
    "three are missing": ([of_kueue("k0")], "1 of 4 pods", "create the 3 missing pods,"),
    "one has failed": (
        [*(of_kueue(f"k{number}", total="3") for number in range(2)), of_kueue("gone", total="3", phase="Failed")],
        "2 of 3 pods",
        "create the missing pod,",
    ),
    "another group is complete": ([of_kueue("k0", total="2"), of_kueue("x", "other", total="1")], "1 of 2 pods", "create the missing pod,"),
}


@pytest.mark.parametrize(("pods", "number", "advice"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_the_missing_pods_of_a_pod_group_of_kueue_are_to_be_created(pods, number, advice):
    status, answer = fit(pods, NODES)
    assert (1, "does-not-fit") == (status, answer["verdict"])
    assert all(each in answer["message"] for each in (number, advice, "or lower kueue.x-k8s.io/pod-group-total-count"))

    _, answer = simulated([*NODES, *pods])
    assert any(number in each["message"] and advice in each["message"] for each in answer["notes"])
    assert [] == [remedy for each in answer["decisions"] for remedy in each.get("remedies", ())]


def test_pods_with_a_queue_wait_for_the_missing_ones_though_they_have_no_gates_yet():
    pods = [of_kueue(f"k{number}", total="3") for number in range(2)]
    for each in pods:
        del each["spec"]["schedulingGates"]
    _, unmanaged = fit(pods, NODES)
    for each in pods:
        each["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "main"
    status, answer = fit(pods, NODES)
    assert ("fits", 1, "does-not-fit") == (unmanaged["verdict"], status, answer["verdict"])
    assert "2 of 3 pods" in answer["message"]


def test_the_labels_of_a_flavor_cannot_be_dropped():
    def of_kueue(kind: str, name: str, spec: Json) -> Json:
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}

    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 100}]}
    queues = [
        of_kueue("ClusterQueue", "cq", {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}]}),
        of_kueue("LocalQueue", "main", {"clusterQueue": "cq"}),
        of_kueue("ResourceFlavor", "f", {"nodeLabels": {RACK: "c"}}),
    ]
    mine = pod("p", nodeSelector={RACK: "c"})
    _, own = fit([mine], NODES)
    del mine["spec"]["nodeSelector"]
    mine["metadata"] |= {"uid": "", "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    _, given = fit([mine], [*NODES, *queues])
    assert ("does-not-fit", "does-not-fit") == (own["verdict"], given["verdict"])
    assert ("dropped" in own["message"], "change" in own) == (True, True)
    assert ("smallest change" in given["message"], "change" in given) == (False, False)


def test_pods_of_the_cluster_complete_a_pod_group_of_kueue():
    _, answer = fit([of_kueue("k0")], [*NODES, *(of_kueue(f"k{number}") for number in range(1, 4))])

    assert "admits none" not in answer["message"]


def test_the_gate_of_another_controller_can_be_removed():
    _, answer = simulated([*NODES, pod("p", schedulingGates=[{"name": "example.com/gate"}])])

    assert answer["decisions"][0]["remedies"]


def topology(group: str, *levels: Json) -> Json:
    return {"apiVersion": f"{group}/v1alpha1", "kind": "Topology", "metadata": {"name": "network"}, "spec": {"levels": [*levels]}}


def of_kai(level: str, **more: Any) -> Json:
    constraint = {"topology": "network", "requiredTopologyLevel": level}
    return manifest("PodGroup", "scheduling.run.ai/v2alpha2", "mine", minMember=3, **({"topologyConstraint": constraint} | more))


MEMBERS = {"metadata": {"annotations": {"pod-group-name": "mine"}}, "spec": RUN_ONCE["spec"]}
LEVELS = {
    "an alias": (topology("kai.scheduler", {"nodeLabel": RACK, "alias": "rack"}), of_kai("rack")),
    "a node label without a slash": (topology("kai.scheduler", {"nodeLabel": "kubernetes.io/os"}, {"nodeLabel": RACK}), of_kai(RACK)),
    "a level of Kueue's Topology": (topology("kueue.x-k8s.io", {"nodeLabel": RACK}), of_kai(RACK)),
    "the alias of a subgroup": (
        topology("kai.scheduler", {"nodeLabel": RACK, "alias": "rack"}),
        of_kai(
            "",
            topologyConstraint={"topology": "network"},
            subGroups=[{"name": "w", "minMember": 3, "topologyConstraint": {"topology": "network", "requiredTopologyLevel": "rack"}}],
        ),
    ),
}


@pytest.mark.parametrize(("levels", "group"), LEVELS.values(), ids=LEVELS)
def test_levels_of_kai_are_those_of_its_topology(levels, group):
    """Three pods need one rack, which has room for two."""
    labels = {"kai.scheduler/subgroup-name": "w"} if "subGroups" in group["spec"] else {}
    template = {**MEMBERS, "metadata": {**MEMBERS["metadata"], "labels": labels}}

    for mine, cluster in (([group], [*NODES, levels]), ([group, levels], NODES), ([], [*NODES, group, levels])):
        status, answer = fit([{**job(3), "spec": {**job(3)["spec"], "template": template}}, *mine], cluster)
        assert (1, "does-not-fit", []) == (status, answer["verdict"], answer["skipped"])
        assert "rack" in answer["message"]


@pytest.mark.parametrize("redact", [[], ["--redact"]], ids=["", "redacted"])
@pytest.mark.parametrize("group", ["kai.scheduler", "kueue.x-k8s.io"])
def test_a_snapshot_has_the_levels_of_topologies(group, redact):
    Path("cluster.json").write_text(json.dumps(topology(group, {"nodeLabel": RACK, "alias": "rack"})), encoding="utf-8")
    (kept,) = json.loads(CliRunner().invoke(cli.main, ["snapshot", "cluster.json", *redact]).stdout)["items"]

    assert (f"{group}/v1alpha1", [{"nodeLabel": RACK, "alias": "rack"}]) == (kept["apiVersion"], kept["spec"]["levels"])
    assert ["name"] == [*kept["metadata"]]
    assert ("network" == kept["metadata"]["name"]) is not bool(redact)


@pytest.mark.parametrize(
    ("level", "want"),
    [("rak", "is none of Topology network; did you mean 'rack'?"), ("zone", "is none of Topology network")],
)
def test_a_level_that_the_topology_lacks_is_not_judged(level, want):
    levels = topology("kai.scheduler", {"nodeLabel": RACK, "alias": "rack"})
    status, answer = fit([{**job(3), "spec": {**job(3)["spec"], "template": MEMBERS}}, of_kai(level), levels], NODES)

    assert 2 == status
    assert want in answer["skipped"][0]["reason"]
