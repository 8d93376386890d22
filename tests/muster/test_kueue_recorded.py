"""Random JobSets with Kueue's topology annotations fit where Kueue 0.17.0 finds domains: its recorded answers.

They are those of ``FindTopologyAssignmentsForWorkload``, called by ``tests/cluster/assets/kueue_topology/main.go``.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest

from tests.muster.simulated import node
from tests.muster.test_kueue_topology import GROUP, HOST, LEVELS, REQUIRED, SIZE, SLICE
from tests.muster.test_own_groups import fit
from tests.muster.test_simulate_controllers import manifest

pytestmark = pytest.mark.usefixtures("folder")

Json = dict[str, Any]
FITS = "1101110101111110011111011010101011110011110100111011011010111111100011111111010111101111001011001010"
"""Kueue's answer to the situation of each seed: 1 if it finds domains for all podsets."""
ADMITTED_WITHOUT_ROOM, REFUSED_WITH_ROOM = {4}, {45}
"""Seeds with a group of podsets for which Kueue is wrong.

It counts the workers beside a leader with the smallest difference that a leader makes in any domain, also in one without room for the leader.
Of two podsets with one pod, it can look only at the domain with room for most leaders and workers.
"""


def situation(seed: int) -> Json:
    """Return nodes and podsets, as the program reads them."""
    choice = random.Random(seed)
    nodes = [
        {"Name": f"b{block}-r{rack}-n{number}", "Block": f"b{block}", "Rack": f"b{block}-r{rack}", "Cpu": choice.randint(1, 8)}
        for block in range(choice.randint(1, 3))
        for rack in range(choice.randint(1, 3))
        for number in range(choice.randint(1, 3))
    ]
    mode = choice.random()
    if mode < 0.3:
        level = choice.choice(LEVELS)
        together = {"Required": level, "Slice": "", "Group": "g", "Size": 0}
        leader = {"Name": "a", "Count": 1, "Cpu": choice.randint(1, 3), **together}
        return {"Nodes": nodes, "PodSets": [leader, {"Name": "b", "Count": choice.randint(1, 8), "Cpu": choice.randint(1, 3), **together}]}
    return {"Nodes": nodes, "PodSets": [_podset(name, choice) for name in "ab"[: choice.randint(1, 2) if mode < 0.7 else 1]]}


def _podset(name: str, choice: random.Random) -> Json:
    required, sliced = choice.choice(["", *LEVELS[:2]]), choice.choice(["", *LEVELS])
    if sliced and required and LEVELS.index(sliced) < LEVELS.index(required):
        sliced = ""
    size = choice.randint(1, 4)
    count = size * choice.randint(1, 4)
    return {"Name": name, "Count": count, "Cpu": choice.randint(1, 3), "Required": required, "Slice": sliced, "Group": "", "Size": size}


def replicated_job(podset: Json, seed: int) -> Json:
    """Return the replicated job of a podset, with a random number of Jobs."""
    keys = {
        REQUIRED: podset["Required"],
        SLICE: podset["Slice"],
        SIZE: str(podset["Size"]) if podset["Slice"] else "",
        GROUP: podset["Group"],
    }
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(podset["Cpu"])}}}
    template = {
        "metadata": {"annotations": {key: value for key, value in keys.items() if value}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    jobs = random.Random(seed).choice([each for each in range(1, podset["Count"] + 1) if podset["Count"] % each == 0])
    pods = podset["Count"] // jobs
    return {
        "name": podset["Name"],
        "replicas": jobs,
        "template": {"spec": {"parallelism": pods, "completions": pods, "template": template}},
    }


@pytest.mark.parametrize("seed", range(len(FITS)))
def test_a_jobset_fits_where_kueue_finds_domains(seed: int) -> None:
    given = situation(seed)
    jobs = [replicated_job(each, seed) for each in given["PodSets"]]
    nodes = [
        node(each["Name"], str(each["Cpu"]), block=each["Block"], rack=each["Rack"], **{HOST: each["Name"]}) for each in given["Nodes"]
    ]

    status, answer = fit([manifest("JobSet", "jobset.x-k8s.io/v1alpha2", "o", replicatedJobs=jobs)], nodes)
    want = (FITS[seed] == "1") != (seed in ADMITTED_WITHOUT_ROOM | REFUSED_WITH_ROOM)
    assert (0 if want else 1) == status, answer["message"]


if __name__ == "__main__":
    sys.stdout.writelines(json.dumps(situation(seed)) + "\n" for seed in range(int(sys.argv[1])))
