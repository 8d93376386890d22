"""Features that a pod requires and nodes declare."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.plugins.node_declared_features import FEATURES, REQUIRED
from tests.scheduler_core.builders import decided, leaf, node, placed, pod, pods, reasons_of, state
from tests.scheduler_core.loading.manifests import problem_lines

MOUNTS, RESTARTS, USERS = "VolumeBindMountOptions", "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
STRATEGIES = pytest.mark.parametrize("strategy", ["greedy", "complete"])
RULES = {"restartPolicyRules": [{"action": "Restart"}, {"action": "RestartAllContainers"}]}
OPTIONS = {"volumeMounts": [{"name": "a"}, {"name": "b", "bindMountOptions": ["noexec"]}]}
IN_A_USER_NAMESPACE = {"hostNetwork": True, "hostUsers": False}


def declaring(name, *features, **more):
    """Return a node that declares *features*."""
    result = node(name, **more)
    result["status"]["declaredFeatures"] = [*features]
    return result


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, (), id="nothing"),
        pytest.param({"containers": [{}, RULES]}, (RESTARTS,), id="restart rule of a container"),
        pytest.param({"initContainers": [RULES]}, (RESTARTS,), id="restart rule of an init container"),
        pytest.param({"containers": [{"restartPolicyRules": [{"action": "Restart"}]}]}, (), id="another restart rule"),
        pytest.param(IN_A_USER_NAMESPACE, (USERS,), id="host network in a user namespace"),
        pytest.param({"hostNetwork": True}, (), id="host network of the host's users"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, (), id="the host's users by name"),
        pytest.param({"hostUsers": False}, (), id="a user namespace alone"),
        pytest.param({"containers": [OPTIONS]}, (MOUNTS,), id="mount options of a container"),
        pytest.param({"initContainers": [OPTIONS]}, (MOUNTS,), id="mount options of an init container"),
        pytest.param({"ephemeralContainers": [OPTIONS]}, (MOUNTS,), id="mount options of an ephemeral container"),
        pytest.param({"containers": [{"volumeMounts": [{"bindMountOptions": []}]}]}, (), id="no mount option"),
        pytest.param({"ephemeralContainers": [RULES]}, (), id="an ephemeral container has no restart rules"),
        pytest.param({"containers": [{**RULES, **OPTIONS}], **IN_A_USER_NAMESPACE}, (RESTARTS, USERS, MOUNTS), id="all, sorted"),
    ],
)
def test_features_are_inferred_from_the_spec(spec, want):
    (result,) = load([pod("p", **spec)]).pods

    assert want == REQUIRED.of_shape(result.shape)
    assert list(want) == sorted(want)


def test_every_required_feature_must_be_declared():
    nodes = [declaring("a"), declaring("b", USERS), declaring("c", MOUNTS, "Unknown", USERS), node("d")]
    here = state([*nodes, pod("p", containers=[OPTIONS], **IN_A_USER_NAMESPACE)])
    (needs,) = load([pod("p", containers=[OPTIONS], **IN_A_USER_NAMESPACE)]).pods

    assert [(FEATURES, [False, False, True, False])] == [(reason, mask.tolist()) for reason, mask in here.profile.filters(needs.shape)]
    assert [] == here.profile.filters(load([pod("p")]).pods[0].shape)


@STRATEGIES
def test_gang_is_placed_where_its_features_are_declared(strategy):
    racks = [declaring(f"{rack}-{number}", *features, rack=rack) for rack, features in (("r1", ()), ("r2", (USERS,))) for number in (0, 1)]
    objects = [*racks, leaf("g", 2, "rack"), *pods("g", 2, cpu="3", **IN_A_USER_NAMESPACE)]

    assert {"g-0": "r2-0", "g-1": "r2-1"} == placed(decided(objects, strategy=strategy))
    assert not placed(decided([*objects[:2], *objects[4:]], strategy=strategy))


@STRATEGIES
def test_no_eviction_makes_a_node_declare_a_feature(strategy):
    objects = [node("n"), pod("low", on="n", cpu="4"), leaf("g", 1, priority=9), *pods("g", 1, cpu="4", priority=9, **IN_A_USER_NAMESPACE)]

    assert not decided(objects, strategy=strategy).victims
    assert {"default/low"} == set(decided([declaring("n", USERS), *objects[1:]], strategy=strategy).victims)


@STRATEGIES
def test_features_are_the_last_reason_of_a_node(strategy):
    full = [declaring(name, cpu="1") for name in "ab"]
    objects = [*full, node("c", cpu="9"), leaf("g", 1), *pods("g", 1, cpu="2", **IN_A_USER_NAMESPACE)]
    decision = decided(objects, strategy=strategy)

    assert f"0/3 nodes are available: 2 Insufficient cpu, 1 {FEATURES}." in reasons_of(decision)["default/g-0"]


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param([pod("p", hostUsers="no")], "Pod default/p: spec.hostUsers must be true or false, not a string; the pod is left out", id="users"),
        pytest.param(
            [pod("p", containers=[{"restartPolicyRules": {}}])],
            "Pod default/p: spec.containers[0].restartPolicyRules must be a list, not an object; the pod is left out",
            id="rules",
        ),
        pytest.param([declaring("n", 1)], "Node n: status.declaredFeatures[0] must be a string, not a whole number; the node is left out", id="features"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_problem(objects, want):
    assert [want] == problem_lines(load(objects))
