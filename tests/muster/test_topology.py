# ruff: noqa: RUF001 - multiplication signs as in the output
"""``muster topology``: levels, domains, capacity and groups of a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from muster import cli
from muster.commands.topology.domain_report import _bar
from scheduler_core.diagnosis.capacity_survey import SurveyedAmount
from tests.scheduler_core.builders import leaf, node, pod
from tests.scheduler_core.plugins.device_objects import DRIVER, device, device_slice

pytestmark = pytest.mark.usefixtures("folder")

GPU = "example.com/gpu"
Json = dict[str, Any]
CLUSTER = [
    node("n1", "8", "32Gi", zone="z1", rack="r1", gpu="4"),
    node("n2", "8", "32Gi", zone="z1", rack="r1", gpu="4", unschedulable=True),
    node("n10", "8", "32Gi", zone="z1", rack="r2", gpu="4"),
    node("n3", "8", "2Ti", zone="z2", rack="r3"),
    leaf("train", 2),
    *(pod(f"train-{number}", "train", "2", gpu="2", on=name) for number, name in enumerate(("n1", "n2", "n10"))),
    pod("web", cpu="4", memory="1Ti", on="n3"),
    pod("later", cpu="1"),
]


def topology(objects: list[Json], *arguments: str) -> tuple[int, str, str]:
    """Return exit status, standard output and standard error."""
    with open("cluster.json", "w", encoding="utf-8") as file:  # noqa: PTH123 - in the folder of the test
        file.write("\n".join(map(json.dumps, objects)))
    return run("--objects", "cluster.json", *arguments)


def run(*arguments: str) -> tuple[int, str, str]:
    answer = CliRunner().invoke(cli.main, ["topology", *arguments])
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    return answer.exit_code, answer.stdout, answer.stderr


def test_domains_have_bars_and_groups() -> None:
    status, text, problems = topology(CLUSTER)
    assert (0, "") == (status, problems)
    assert text.splitlines() == [
        "               nodes  cpu                  memory                    example.com/gpu",
        "all nodes          4  ███░░░░░×× 10 of 32  █████░░░░× 1Ti of 2.09Ti  █████░░░×× 6 of 12",
        "│  default/train 3 pods, 1 pod without a group",
        "├─ zone z1         3  ██░░░░░░×× 6 of 24   ░░░░░░░××× 0 of 96Gi      █████░░░×× 6 of 12",
        "│  ├─ rack r1      2  ██░░░░×××× 4 of 16   ░░░░░××××× 0 of 64Gi      █████░░░×× 4 of 8",
        "│  │     default/train 2 pods",
        "│  └─ rack r2      1  ██░░░░░░░░ 2 of 8    ░░░░░░░░░░ 0 of 32Gi      █████░░░░░ 2 of 4",
        "│        default/train 1 pod",
        "└─ zone z2         1  █████░░░░░ 4 of 8    █████░░░░░ 1Ti of 2Ti                none",
        "   └─ rack r3      1  █████░░░░░ 4 of 8    █████░░░░░ 1Ti of 2Ti                none",
        "         1 pod without a group",
        "",
        "█ used  ░ free  × unusable: 1 node is cordoned, not ready, or without cpu, memory or pod slots",
    ]


def test_keys_are_the_levels_and_resources_are_selected() -> None:
    _, text, _ = topology(CLUSTER, "rack", "--resource", GPU, "--resource", "pods")
    assert text.splitlines()[:4] == [
        "            nodes  example.com/gpu     pods",
        "all nodes       4  █████░░░×× 6 of 12  █░░░░░░░×× 4 of 440",
        "│  default/train 3 pods, 1 pod without a group",
        "├─ rack r1      2  █████░░░×× 4 of 8   █░░░░××××× 2 of 220",
    ]


def test_nodes_are_listed_on_request_with_the_reason_why_they_take_no_pods() -> None:
    _, text, _ = topology(CLUSTER, "--verbose")
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if "└─ n2" in line)
    assert "│  │        cordoned; default/train 1 pod" == lines[at + 1]
    named = [line.partition("─ ")[2].split()[0] for line in lines if "─ n" in line]
    assert ["n1", "n2", "n10", "n3"] == named


CLOSED = [
    pytest.param({"unschedulable": True}, {}, "cordoned", id="cordoned"),
    pytest.param({"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}, {}, "not-ready", id="not ready"),
    pytest.param(
        {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]}, {}, "disk-pressure", id="under pressure"
    ),
    pytest.param({"taints": [{"key": "node.kubernetes.io/x", "effect": "PreferNoSchedule"}]}, {}, "", id="a taint that prefers"),
    pytest.param(
        {"taints": [{"key": "example.com/gpu", "effect": "NoSchedule"}]}, {}, "", id="a taint of an operator: some pods tolerate it"
    ),
    pytest.param({}, {"cpu": "4"}, "no cpu left", id="cpu used up"),
    pytest.param({}, {"cpu": "4", "memory": "16Gi"}, "no cpu and memory left", id="cpu and memory used up"),
    pytest.param({"pods": 1}, {}, "no pod slots left", id="pod slots used up"),
    pytest.param({}, {"cpu": "3999m"}, "", id="something left of everything"),
]


@pytest.mark.parametrize(("of_node", "of_pod", "want"), CLOSED)
def test_nodes_that_take_no_more_pods(of_node: Json, of_pod: Json, want: str) -> None:
    _, text, _ = topology([node("n", gpu="2", **of_node), pod("p", on="n", **of_pod)], "--verbose")
    note = next(line for line in text.splitlines() if "1 pod without a group" in line and line.startswith("      "))
    assert "; ".join(filter(None, (want, "1 pod without a group"))) == note.strip()
    _, text, _ = topology([node("n", gpu="2", **of_node), pod("p", on="n", **of_pod)], "--format", "json")
    (whole,) = json.loads(text)["domains"]
    assert ((0, 2) if want else (2, 0)) == (whole["resources"][GPU]["free"], whole["resources"][GPU]["unusable"])
    assert bool(want) == whole["unusableNodes"]


def test_json_has_every_domain_parents_first() -> None:
    status, text, _ = topology(CLUSTER, "--format", "json")
    answer = json.loads(text)
    assert 0 == status
    assert ["version", "levels", "domains", "problems"] == list(answer)
    assert (1, ["zone", "rack"], []) == (answer["version"], answer["levels"], answer["problems"])
    paths = [[each["value"] for each in domain["path"]] for domain in answer["domains"]]
    assert [[], ["z1"], ["z1", "r1"], ["z1", "r2"], ["z2"], ["z2", "r3"]] == paths
    rack = answer["domains"][2]
    assert {"key": "rack", "value": "r1"} == rack["path"][1]
    assert (2, 1, 0) == (rack["nodes"], rack["unusableNodes"], rack["podsWithoutGroup"])
    assert [{"namespace": "default", "name": "train", "pods": 2}] == rack["groups"]
    assert {"capacity": 16, "used": 4, "free": 6, "unusable": 6} == rack["resources"]["cpu"]
    assert {"capacity": 8, "used": 4, "free": 2, "unusable": 2} == rack["resources"][GPU]
    assert {"capacity": 2**36, "used": 0, "free": 2**35, "unusable": 2**35} == rack["resources"]["memory"]


def test_nodes_without_a_label_are_a_domain() -> None:
    _, text, _ = topology([node("a", zone="z"), node("b")], "--format", "json")
    assert [[], [{"key": "zone", "value": "z"}], [None]] == [each["path"] for each in json.loads(text)["domains"]]
    assert "└─ without zone" in topology([node("a", zone="z"), node("b")])[1]


def test_a_few_nodes_without_levels_are_listed() -> None:
    lines = topology([node(f"n{number}") for number in range(3)])[1].splitlines()
    assert ["all nodes", "├─ n0", "├─ n1", "└─ n2"] == [line.split("  ")[0] for line in lines[1:5]]
    lines = topology([node(f"n{number}") for number in range(30)])[1].splitlines()
    assert 1 == len([line for line in lines if " of " in line])


def test_many_domains_are_summed_up_unless_all_are_requested() -> None:
    machines = [node(f"n{number}-{again}", rack=f"r{number}") for number in range(30) for again in range(2)]
    lines = topology(machines)[1].splitlines()
    (more,) = [line for line in lines if "more domains" in line]
    assert more.startswith("└─ … and 6 more domains     12  ░░░░░░░░░░ 0 of 48")
    assert "more domains" not in topology(machines, "--verbose")[1]


def test_more_used_than_there_is_fills_the_bar() -> None:
    _, text, _ = topology([node("n", "2"), pod("p", cpu="5", on="n")], "--resource", "cpu")
    assert "██████████ 5 of 2" in text


@pytest.mark.parametrize(
    ("used", "free", "unusable", "want"),
    [
        pytest.param(0, 100, 0, "░░░░░░░░░░", id="empty"),
        pytest.param(100, 0, 0, "██████████", id="full"),
        pytest.param(1, 99, 0, "█░░░░░░░░░", id="a little used has a cell"),
        pytest.param(99, 1, 0, "█████████░", id="a little free has a cell"),
        pytest.param(99, 0, 1, "█████████×", id="a little unusable has a cell"),
        pytest.param(98, 1, 1, "████████░×", id="each has a cell"),
        pytest.param(0, 1, 99, "░×××××××××", id="nothing used"),
        pytest.param(50, 25, 25, "█████░░░××", id="half"),
        pytest.param(0, 0, 100, "××××××××××", id="all unusable"),
        pytest.param(200, 0, 0, "██████████", id="overcommitted"),
    ],
)
def test_bars(used: int, free: int, unusable: int, want: str) -> None:
    assert want == _bar(SurveyedAmount("cpu", 100, used, free, unusable), 10)


def test_names_cannot_steer_a_terminal() -> None:
    _, text, _ = topology([node("n", zone="z\x1b[31m"), node("m", zone="y"), node("o", zone="y")])
    assert "\x1b" not in text


WRONG = [
    pytest.param((), "give --objects PATH, --nodes, or --cluster for the live cluster", id="no cluster"),
    pytest.param(("--objects", "a", "--cluster"), "give --objects or --cluster, not both", id="two clusters"),
    pytest.param(("--context", "c"), "--kubeconfig and --context need --cluster", id="context of no cluster"),
    pytest.param(("--objects", "missing.json"), "'missing.json' must be a file or a directory that exists", id="no such file"),
    pytest.param(("--objects", "empty"), "there is no Node in empty", id="empty directory"),
    pytest.param(("--objects", "pod.json"), "there is no Node in pod.json", id="no nodes"),
    pytest.param(("nodes.json", "--objects", "nodes.json"), "'nodes.json' is a file: KEY is the key of a node label", id="a file as key"),
    pytest.param(("a b", "--objects", "nodes.json"), "'a b' must be the key of a node label", id="no key"),
    pytest.param(("zones", "--objects", "nodes.json"), 'no node has the label "zones"; did you mean "zone"?', id="misspelt key"),
    pytest.param(("--objects", "nodes.json", "--resource", "cpus"), "no node has the resource 'cpus'; did you mean cpu?", id="resource"),
    pytest.param(("--objects", "nodes.json", "--resource", "q"), "the resources are cpu, memory, pods", id="unlike any resource"),
    pytest.param(("--cluster", "--kubeconfig", "missing"), "there is no file missing", id="no kubeconfig"),
]


@pytest.mark.parametrize(("arguments", "want"), WRONG)
def test_mistakes_are_one_line(tmp_path: Any, arguments: tuple[str, ...], want: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nodes.json").write_text(json.dumps(node("n", zone="z")), encoding="utf-8")
    (tmp_path / "pod.json").write_text(json.dumps(pod("p")), encoding="utf-8")
    status, text, problem = run(*arguments)
    assert (2, "", 1) == (status, text, problem.count("\n"))
    assert want in problem


@pytest.mark.parametrize(
    ("more", "want"),
    [
        pytest.param({**pod("p"), "spec": {"nodeName": "elsewhere", "containers": []}}, "Pod default/p: ", id="a pod on an unknown node"),
        pytest.param({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "bare"}}, "Node bare: ", id="a node without capacity"),
        pytest.param(node("n", "9"), "Node n: ", id="a node twice"),
        pytest.param(
            {"kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "s"}, "spec": 5},
            "ResourceSlice s: ",
            id="devices",
        ),
    ],
)
def test_a_cluster_read_in_part_is_shown_with_status_2(more: Json, want: str) -> None:
    status, text, problems = topology([node("n"), more])
    assert 2 == status
    assert "all nodes" in text
    assert f"muster topology: {want}" in problems
    assert [want.strip(": ")] == [each["object"] for each in json.loads(topology([node("n"), more], "--format", "json")[1])["problems"]]


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(b"\xff\xfe\x00", "nodes.yaml:1:1: must be UTF-8: ", id="binary"),
        pytest.param(b"kind: Node\nfoo: [\n", "nodes.yaml:3:1: must be YAML: ", id="a half"),
        pytest.param(b"", "nodes.yaml:1:1: must hold a Kubernetes object", id="empty"),
        pytest.param(json.dumps({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "bare"}}).encode(), "Node bare: ", id="capacity"),
    ],
)
def test_the_reason_why_no_node_could_be_read_is_reported(tmp_path: Any, content: bytes, want: str) -> None:
    (tmp_path / "nodes.yaml").write_bytes(content)
    status, text, problems = run("--objects", "nodes.yaml")
    assert (2, "", 2) == (status, text, problems.count("\n"))
    assert problems.startswith(f"muster topology: {want}")
    assert "there is no Node in nodes.yaml" in problems


def test_many_problems_are_counted() -> None:
    lost = [pod(f"p{number}", on="elsewhere") for number in range(20)]
    assert "muster topology: and 12 more problems\n" in topology([node("n"), *lost])[2]


def test_attributes_of_devices_are_levels():
    slices = [device_slice(name, device("d", {"clique": clique})) for name, clique in (("n1", "c1"), ("n10", "c2"), ("n3", "c2"))]
    option = ("--device-topology", f"{DRIVER}/clique")
    status, text, _ = topology([*CLUSTER, *slices], *option, "--format", "json")

    assert status == 0
    assert f"{DRIVER}/clique" in json.loads(text)["levels"]
    assert topology([*CLUSTER, *slices], *option, f"{DRIVER}/clique")[0] == 0
    assert topology([*CLUSTER, *slices], f"{DRIVER}/clique")[0] == 2


def test_nodes_and_attributes_without_a_level_are_reported():
    two = device_slice("n1", device("c", {"clique": "c1"}), device("d", {"clique": "c2"}))
    status, _, problems = topology([*CLUSTER, two], "--device-topology", f"{DRIVER}/clique,{DRIVER}/cliqe")

    assert status == 0
    assert f"Node n1: its devices have 2 values of {DRIVER}/clique (c1, c2); the node is in no domain of this level" in problems
    assert (
        f'attribute {DRIVER}/cliqe: no device has this attribute, so no node is in a domain of this level; did you mean "{DRIVER}/clique"?'
        in problems
    )


@pytest.mark.parametrize("text", ["clique", "", "gpu.example.com/clique,", "a b/c"])
def test_an_attribute_has_its_domain(text):
    status, _, problems = topology(CLUSTER, "--device-topology", text)

    assert status == 2
    assert f"{text.rpartition(',')[2]!r} must be an attribute with its domain, such as gpu.example.com/clique" in problems
