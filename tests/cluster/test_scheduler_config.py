"""Random scheduler configurations: what kube-scheduler 1.37 makes of them, and where it places pods by their profiles."""

from __future__ import annotations

import json
import os
import random
import subprocess
from typing import Any

import pytest

from kubeapi.field_path import FieldPath
from scheduler_core.behavior.scheduler_behavior import behavior_of
from scheduler_core.cluster.load import load
from scheduler_core.loading.configuration.fields import points_of
from scheduler_core.loading.configuration.plugin_sets import expand
from scheduler_core.loading.configuration.scheduler_configuration import read_configuration
from scheduler_core.model.options import PlacingOptions
from scheduler_core.placement.pod_by_pod import PodByPod
from scheduler_core.placement.state import PlacementState
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kubelet import node, pod
from tests.cluster.scheduler_configs import GPU, Json, any_configuration, configuration, valid_profile
from tests.sampling import every, sampled

LOGGED = '"the scheduler starts to work with those plugins" Plugins='


def told(plane: ControlPlane, folder: Any, config: Json) -> tuple[Json | None, str]:
    """Return the plugins with which kube-scheduler would start, None if it refuses *config*, and its last words."""
    file, written = folder / "config.json", folder / "written.yaml"
    file.write_text(json.dumps({**config, "clientConnection": {"kubeconfig": str(plane.kubeconfig)}}), encoding="utf-8")
    written.unlink(missing_ok=True)
    command = [plane.programs.path("kube-scheduler"), f"--config={file}", f"--write-config-to={written}", "-v=2"]
    environ = {**os.environ, "GOGC": "off"}
    done = subprocess.run(
        [*command, *plane.options.gate_flags(plane.programs.minor())], capture_output=True, text=True, check=False, timeout=60, env=environ
    )
    plugins = [line.partition(LOGGED)[2] for line in done.stderr.splitlines() if LOGGED in line]
    return (json.loads(plugins[0]) if plugins and written.exists() else None), done.stderr[-500:]


# kube-scheduler starts for each configuration: 150 in `make soak`.
@pytest.mark.timeout(1200)
def test_kube_scheduler_refuses_and_enables_the_same_configurations(plane, tmp_path, record_property):
    chance, accepted, behavior = random.Random(39), 0, behavior_of(plane.programs.minor())
    for config in every(10, [any_configuration(chance) for _ in range(150)]):
        plugins, words = told(plane, tmp_path, config)
        ours = read_configuration(config, behavior)
        assert (plugins is None) is bool(ours.errors), f"{config}\n{words}\n{[f'{each.path}: {each}' for each in ours.errors]}"
        if plugins is None:
            continue
        accepted += 1
        enabled = expand(config["profiles"][0].get("plugins", {}), FieldPath(), behavior, [], [])
        theirs = {point: plugins[point[0].upper() + point[1:]]["Enabled"] or [] for point in points_of(behavior)}
        assert {point: tuple(each["Name"] for each in listed) for point, listed in theirs.items()} == dict(enabled.at), config
        for point, weights in (("score", enabled.scores), ("placementScore", enabled.placement_scores)):
            assert {each["Name"]: each["Weight"] for each in theirs[point]} == {key: value for key, value in weights.items() if value}
    record_property("result", f"{accepted} accepted")
    assert accepted > 5


def best_nodes(objects: list[Json], name: str, config: Json) -> set[str]:
    """Return the nodes with the best score for the pod *name*; none if no node is feasible."""
    snapshot = load(objects, read_configuration(config).profiles)
    state = PlacementState.from_snapshot(snapshot, PlacingOptions())
    (record,) = (each for each in snapshot.pods if each.name == name)
    steps = PodByPod(state.profile, state.ledger, state.stateful, state.capacity, state.nodes.everything)
    feasible = steps.feasible(record).nonzero()[0]
    scores = steps._scores(record, feasible) if len(feasible) else feasible
    return {state.nodes.names[index] for index, score in zip(feasible.tolist(), scores.tolist(), strict=True) if score == scores.max()}


def random_pod(chance: random.Random, name: str, namespace: str) -> Json:
    requests: Json = {"cpu": f"{chance.randint(1, 20) * 100}m", "memory": f"{chance.randint(1, 60) * 100}Mi"}
    if chance.random() < 0.2:
        requests.pop(chance.choice(["cpu", "memory"]))
    if chance.random() < 0.5:
        requests[GPU] = chance.randint(1, 3)
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": chance.choice("ab")}}}
    spec: Json = {"schedulerName": name}
    if chance.random() < 0.3:
        kind = chance.choice(["podAffinity", "podAntiAffinity"])
        spec["affinity"] = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term}]}}
    elif chance.random() < 0.2:
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**term, "labelSelector": {}}]}}
    return pod(name, namespace, spec=spec, labels={"app": chance.choice("ab")}, **requests)


def test_kube_scheduler_places_pods_on_the_best_nodes_of_their_profiles(plane, api, namespace, nodes, record_property):
    chance, count = random.Random(5732), sampled(120, least=25)
    config = configuration(*(valid_profile(chance, f"p{number:03}") for number in range(count)))
    sizes = [(4, 16, 0), (8, 16, 4), (16, 64, 8), (8, 64, 8), (32, 32, 0), (12, 48, 2)]
    manifests = []
    for number, (cpu, memory, gpus) in enumerate(sizes * 3):
        each = node(f"n{number:02}", {"zone": f"z{number % 4}"}, cpu=cpu, memory=f"{memory}Gi", **({GPU: gpus} if gpus else {}))
        manifests.append({**each, "spec": {"taints": [{"key": "soft", "effect": "PreferNoSchedule"}]} if number % 5 == 0 else {}})
    nodes(*manifests)
    decided = ties = 0
    plane.start_scheduler(config)
    try:
        for number in range(count):
            name = f"p{number:03}"
            api.create(random_pod(chance, name, namespace))
            before = [*api.objects("Node"), *api.objects("Pod", namespace)]
            for each in before:
                if each["metadata"]["name"] == name:
                    each["spec"].pop("nodeName", None)
            best = best_nodes(before, name, config)
            found = api.wait("Pod", name, namespace, until=lambda each: bool(each) and is_decided(each))
            where = found["spec"].get("nodeName")
            assert where in best if best else where is None, f"{name}: {where}, not {best}; {config['profiles'][number]}"
            decided, ties = decided + bool(where), ties + (len(best) > 1)
    finally:
        plane.scheduler.stop()
    record_property("result", f"{count} pods, {decided} placed, {ties} of them with several best nodes")
    assert decided > count // 2
    # Ties are drawn by lot, and so are the states that follow.
    assert ties < decided * 4 // 5


def test_all_nodes_are_scored_with_a_percentage_of_100(plane, api, namespace, nodes):
    """With the global percentage kube-scheduler would score 100 of these nodes, and mostly miss the only one that the pods prefer."""
    config = configuration({"schedulerName": "whole", "percentageOfNodesToScore": 100}, percentageOfNodesToScore=1)
    nodes(*(node(f"n{number:03}", {"preferred": "yes"} if number == 200 else {}, cpu=64, memory="64Gi") for number in range(250)))
    expression = {"key": "preferred", "operator": "Exists"}
    terms = [{"weight": 100, "preference": {"matchExpressions": [expression]}}]
    spec = {"schedulerName": "whole", "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}
    pods = [pod(f"p{number}", namespace, spec=spec, cpu="100m", memory="100Mi") for number in range(4)]
    assert all(best_nodes([*api.objects("Node"), each], each["metadata"]["name"], config) == {"n200"} for each in pods)
    plane.start_scheduler(config)
    try:
        for each in pods:
            api.create(each)
            decided = api.wait("Pod", each["metadata"]["name"], namespace, until=lambda each: bool(each) and is_decided(each))
            assert decided["spec"].get("nodeName") == "n200"
    finally:
        plane.scheduler.stop()


def is_decided(each: Json) -> bool:
    conditions = {one["type"]: one["status"] for one in each["status"].get("conditions", ())}
    return "nodeName" in each["spec"] or conditions.get("PodScheduled") == "False"
