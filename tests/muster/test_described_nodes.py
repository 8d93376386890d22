"""Nodes described in one line: the grammar, the mistakes, the objects, and each command with them."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kubeapi import quantity
from muster import cli
from muster.commands.described_nodes import description_syntax
from muster.commands.described_nodes.description_syntax import (
    EFFECTS,
    EXAMPLE,
    LEVELS,
    MOST_DEVICES,
    MOST_NODES,
    DescriptionError,
    Taint,
    parse_description,
    parse_descriptions,
)
from muster.commands.described_nodes.machine_types import MACHINE_TYPES
from muster.commands.described_nodes.node_manifests import described_objects
from scheduler_core.cluster.load import load
from scheduler_core.model.names import HOSTNAME
from tests.muster.simulated import node, pod
from tests.muster.test_simulate_controllers import job
from tests.quick_yaml import documents

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("folder")

RACK, ZONE = LEVELS["rack"], LEVELS["zone"]
AMOUNTS = "cpu=8,memory=32Gi"
LABEL_KEYS = st.sampled_from(["pool", "example.com/pool", "a.b/c"])
NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,20}[A-Za-z0-9])?", fullmatch=True)


def muster(*arguments, status=None, text=None):
    answer = CliRunner().invoke(cli.main, [*arguments], input=text)
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    assert status in (None, answer.exit_code), answer.output
    return answer


def saved(name, *objects):
    Path(name).write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    return name


def nodes(*texts, others=()):
    return [each for each in described_objects(parse_descriptions(texts), others) if each["kind"] == "Node"]


def label_of(made, key):
    return [each["metadata"]["labels"].get(key) for each in made]


@st.composite
def written(draw):
    """A description, with what it must mean."""
    count = draw(st.integers(1, 60))
    amounts = {"cpu": draw(st.sampled_from(["1", "500m", "192"])), "memory": draw(st.sampled_from(["1Gi", "64G", "2Ti"]))}
    amounts |= draw(st.dictionaries(st.sampled_from(["pods", "nvidia.com/gpu", "hugepages-2Mi"]), st.integers(1, 999).map(str)))
    labels = draw(st.dictionaries(LABEL_KEYS, NAMES | st.just("")))
    taints = draw(st.lists(st.builds(Taint, LABEL_KEYS, NAMES | st.just(""), st.sampled_from(EFFECTS)), max_size=2))
    levels, left = [], count
    for noun in LEVELS:
        if draw(st.booleans()):
            levels.append((noun, draw(st.integers(1, left))))
            left //= levels[-1][1]
    comma = draw(st.sampled_from([",", ", ", " ,", " , "]))
    clauses = []
    if levels:
        clauses.append("in " + " of ".join(f"{number} {noun}{draw(st.sampled_from(['', 's']))}" for noun, number in levels))
    if labels:
        clauses.append("with " + comma.join(f"{key}={value}" for key, value in labels.items()))
    if taints:
        clauses.append("tainted " + comma.join(f"{each.key}={each.value}:{each.effect}" for each in taints))
    shape = comma.join(f"{key}={value}" for key, value in amounts.items())
    text = " ".join([draw(st.sampled_from([f"{count} x", f"{count}x", f"  {count}  x "])), shape, *draw(st.permutations(clauses))])
    return text, count, amounts, levels, labels, taints


@given(written())
def test_a_description_means_what_it_says(example):
    text, count, amounts, levels, labels, taints = example
    made = nodes(text)

    assert count == len(made) == len({each["metadata"]["name"] for each in made})
    for each in made:
        assert each["status"]["allocatable"] == {"pods": "110", **amounts}
        assert each["metadata"]["labels"].items() >= {**labels, HOSTNAME: each["metadata"]["name"]}.items()
        entries = [(taint["key"], taint.get("value", ""), taint["effect"]) for taint in each.get("spec", {}).get("taints", ())]
        assert entries == [(taint.key, taint.value, taint.effect) for taint in taints]
    number = 1
    wider = [""] * count
    for noun, below in levels:
        number *= below
        domains = label_of(made, LEVELS[noun])
        sizes = Counter(domains)
        assert {f"{noun}-{place + 1}" for place in range(number)} == set(sizes)
        assert max(sizes.values()) - min(sizes.values()) <= 1
        assert len({*zip(wider, domains, strict=True)}) == number
        wider = domains
    assert load(made).problems == ()


@given(st.text(max_size=300) | st.text(alphabet="1x =,:/inof-cpumeryGi racks", max_size=300))
def test_any_other_text_is_refused_in_a_short_line(text):
    """If hypothesis finds a description, its amounts are quantities."""
    message = ""
    try:
        description = parse_description(text)
    except DescriptionError as error:
        message = str(error)
    else:
        assert all(quantity.exact(amount) > 0 for _, amount in description.allocatable)
    assert len(message) < 500
    assert "\n" not in message


WRONG = {
    "nothing": ("", "'' (character 1): the number of nodes must be here"),
    "no number": ("nodes", "'nodes' (character 1): must be the number of nodes, from 1 to 100,000"),
    "none": (f"0 x {AMOUNTS}", "'0' (character 1): must be the number of nodes, from 1"),
    "negative": (f"-4 x {AMOUNTS}", "'-4' (character 1): must be the number of nodes, from 1"),
    "too many": (f"{MOST_NODES + 1} x {AMOUNTS}", "from 1 to 100,000"),
    "thousands of digits": (f"{'9' * 9999} x {AMOUNTS}", f"'{'9' * 40}…' (character 1): must be the number of nodes"),
    "garbage": ("y" * 200, f"'{'y' * 40}…' (character 1)"),
    "no x": (f"4 {AMOUNTS}", "'cpu=8' (character 3): 'x' must be between"),
    "no amounts": ("4 x", "'' (character 4): RESOURCE=AMOUNT or a machine must be here"),
    "comma at the end": (f"4 x {AMOUNTS},", "'' (character 23): RESOURCE=AMOUNT must be here"),
    "two commas": ("4 x cpu=8,,memory=1Gi", "',' (character 11): RESOURCE=AMOUNT must be here"),
    "no amount": ("4 x cpu=8,memory", "'memory' (character 11): must be RESOURCE=AMOUNT"),
    "unknown machine": ("4 x a3-highgpu-8", "one of the machines a3-highgpu-8g, p4d.24xlarge"),
    "near machine": ("4 x p5.48xlarg", "did you mean p5.48xlarge?"),
    "unknown resource": (
        f"4 x {AMOUNTS},gpu=8",
        "'gpu=8' (character 23): there is no resource 'gpu'; did you mean nvidia.com/gpu?; allowed are cpu, memory",
    ),
    "misspelt resource": ("4 x cpu=8,memry=1Gi", "there is no resource 'memry'; did you mean memory?"),
    "unit of bytes": ("4 x cpu=8,memory=64GB", "'memory=64GB' (character 11): \"64GB\" is not a quantity"),
    "unit to mean": ("4 x cpu=8,memory=64GB", "did you mean memory=64G or memory=64Gi?"),
    "binary unit": ("4 x cpu=8,memory=64GiB", "did you mean memory=64Gi?"),
    "unit without power": ("4 x cpu=8,memory=64B", '"64B" is not a quantity'),
    "no unit": ("4 x cpu=8,memory=64", "is less than 1Mi: give a unit, such as memory=64Gi"),
    "zero": ("4 x cpu=0,memory=1Gi", "'cpu=0' (character 5): the amount must be more than 0"),
    "less than zero": ("4 x cpu=-1,memory=1Gi", "the amount must be more than 0"),
    "half a device": (f"4 x {AMOUNTS},nvidia.com/gpu=1.5", "the amount must be a whole number"),
    "more than 64 bits": ("4 x cpu=8,memory=9Ei", "the amount is too large"),
    "cores beyond 64 bits": ("4 x cpu=10E,memory=1Gi", "the amount is too large"),
    "twice": ("4 x cpu=8,cpu=9,memory=1Gi", "'cpu=9' (character 11): cpu is given twice"),
    "no cpu": ("4 x memory=1Gi,nvidia.com/gpu=8", "cpu is missing"),
    "no memory": ("4 x cpu=8", "memory is missing"),
    "unknown clause": (f"4 x {AMOUNTS} on 2 racks", "'on' (character 23): must be 'in', 'with', 'tainted' or the end"),
    "clause twice": (f"4 x {AMOUNTS} in 2 racks in 2 zones", "'in' (character 34): is given twice"),
    "no level": (f"4 x {AMOUNTS} in 2", "zones, blocks, racks or a label must be here"),
    "unknown level": (f"4 x {AMOUNTS} in 2 rows", "'rows' (character 28): must be zones, blocks, racks, or the key of a node label"),
    "misspelt level": (f"4 x {AMOUNTS} in 2 rakcs", "did you mean racks?"),
    "no domains": (f"4 x {AMOUNTS} in 0 racks", "'0' (character 26): must be a number of zones"),
    "negative domains": (f"4 x {AMOUNTS} in -1 racks", "'-1' (character 26): must be a number of zones"),
    "more domains than nodes": (f"4 x {AMOUNTS} in 5 racks", "there are more domains (5) than nodes (4)"),
    "more inner domains": (f"4 x {AMOUNTS} in 2 zones of 3 racks", "there are more domains (2 x 3) than nodes (4)"),
    "narrow level first": (f"4 x {AMOUNTS} in 2 racks of 2 zones", "the widest level is first"),
    "level twice": (f"4 x {AMOUNTS} in 2 racks of 2 racks", "is given twice"),
    "no label": (f"4 x {AMOUNTS} with pool", "'pool' (character 28): must be LABEL=VALUE"),
    "invalid label": (f"4 x {AMOUNTS} with -a=b", "is not a label"),
    "invalid value": (f"4 x {AMOUNTS} with a={'b' * 64}", "is not a label"),
    "label twice": (f"4 x {AMOUNTS} with a=b,a=c", "label a is given twice"),
    "name": (f"4 x {AMOUNTS} with {HOSTNAME}=a", "each node has its own name in this label"),
    "label of a level": (f"4 x {AMOUNTS} in 2 racks with {RACK}=a", f"label {RACK} is that of a level"),
    "no effect": (f"4 x {AMOUNTS} tainted a=b", "must be KEY[=VALUE]:EFFECT"),
    "unknown effect": (f"4 x {AMOUNTS} tainted a=b:noSchedule", "one of NoSchedule, PreferNoSchedule, NoExecute; did you mean NoSchedule?"),
    "invalid taint": (f"4 x {AMOUNTS} tainted =b:NoSchedule", "is not a taint"),
    "no class": (f"4 x {AMOUNTS},deviceclass/=8", "must name a DeviceClass"),
    "long class": (f"4 x {AMOUNTS},deviceclass/{'c' * 64}=8", "must name a DeviceClass of at most 63 characters"),
    "no devices": (f"4 x {AMOUNTS},deviceclass/gpu=0", f"a number of devices from 1 to {MOST_DEVICES}"),
    "too many devices": (f"4 x {AMOUNTS},deviceclass/gpu={MOST_DEVICES + 1}", f"a number of devices from 1 to {MOST_DEVICES}"),
}


@pytest.mark.parametrize(("text", "want"), WRONG.values(), ids=WRONG)
def test_a_mistake_names_the_part_and_what_is_allowed(text, want):
    with pytest.raises(DescriptionError, match=re.escape(want)):
        parse_description(text)


def test_all_descriptions_together_are_limited():
    with pytest.raises(DescriptionError, match="100,001 nodes are described"):
        parse_descriptions([f"{MOST_NODES} x {AMOUNTS}", f"1 x {AMOUNTS}"])


def test_names_follow_from_the_order():
    made = nodes(f"2 x {AMOUNTS} in 2 racks", f"2 x {AMOUNTS} in 1 rack")

    assert [each["metadata"]["name"] for each in made] == ["node-001", "node-002", "node-003", "node-004"]
    assert label_of(made, RACK) == ["rack-1", "rack-2", "rack-1", "rack-1"]


def test_names_of_other_nodes_and_classes_are_not_used():
    text = f"2 x {AMOUNTS},deviceclass/gpu.example.com=2"
    other = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.example.com"}}
    made = described_objects(parse_descriptions([text]), [node("node-001"), other])

    assert [f"{each['kind']} {each['metadata']['name']}" for each in made] == [
        *("Node node-002", "ResourceSlice node-002-gpu.example.com"),
        *("Node node-003", "ResourceSlice node-003-gpu.example.com"),
    ]


def test_a_level_can_be_any_label():
    made = nodes(f"4 x {AMOUNTS} in 2 zones of 2 example.com/nvlink-Domain")
    assert label_of(made, ZONE) == ["zone-1", "zone-1", "zone-2", "zone-2"]
    assert label_of(made, "example.com/nvlink-Domain") == [f"nvlink-domain-{number}" for number in (1, 2, 3, 4)]


@pytest.mark.parametrize("name", MACHINE_TYPES)
def test_a_machine_is_a_node_with_a_source(name):
    machine = MACHINE_TYPES[name]
    (made,) = nodes(f"1 x {name},pods=20")

    assert made["status"]["allocatable"] == {**machine.allocatable, "pods": "20"}
    assert made["metadata"]["labels"]["node.kubernetes.io/instance-type"] == name
    assert load([made]).problems == ()
    assert machine.source.startswith("https://")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", machine.as_of)


def test_what_gke_reserves_is_subtracted():
    """By the page that the note names: cpu and memory of 208 cores and 1,872 GiB."""
    cores, memory = 208, 1872 * 1024
    reserved_cpu = 60 + 10 + 2 * 5 + (cores - 4) * 2.5
    parts = ((4096, 0.25), (4096, 0.2), (8192, 0.1), (112 * 1024, 0.06), (memory - 128 * 1024, 0.02))
    reserved_memory = sum(size * share for size, share in parts) + 100
    allocatable = MACHINE_TYPES["a3-highgpu-8g"].allocatable

    assert allocatable["cpu"] == f"{cores * 1000 - reserved_cpu:g}m"
    assert allocatable["memory"] == f"{int(memory - reserved_memory)}Mi"


CONTAINER = {"name": "c", "image": "registry.example/train:1", "resources": {"requests": {"cpu": "8"}}}


def test_the_page_has_the_grammar_and_the_machines():
    page = (ROOT / "docs" / "nodes.md").read_text(encoding="utf-8")
    grammar = textwrap.dedent((description_syntax.__doc__ or "").partition("::\n")[2].partition("\n\nWords")[0]).strip()
    rows = {cells[1].strip(" `"): [each.strip() for each in cells[2:6]] for line in page.splitlines() if len(cells := line.split("|")) == 8}

    assert f"```text\n{grammar}\n```" in page
    assert [*MACHINE_TYPES] == [name for name in rows if name in MACHINE_TYPES]
    for name, machine in MACHINE_TYPES.items():
        devices = ", ".join(f"{amount} `{key}`" for key, amount in machine.allocatable.items() if "/" in key)
        assert rows[name] == [*(machine.allocatable[key] for key in ("cpu", "memory", "pods")), devices]


TRAIN = job(4)
TRAIN["spec"]["template"] = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
AGENT = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "agent", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "registry.example/agent:1"}]}},
    },
}
CLAIMING = {
    **pod("p"),
    "spec": {**pod("p")["spec"], "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "two"}]},
}
TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "two"},
    "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}}]}}},
}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["fit", "mine.json"], id="fit"),
        pytest.param(["simulate", "mine.json"], id="simulate"),
        pytest.param(["topology"], id="topology"),
        pytest.param(["compile", "--pods", "mine.json"], id="compile"),
    ],
)
def test_the_saved_file_gives_the_same_answer(command):
    saved("mine.json", TRAIN, CLAIMING, TEMPLATE, AGENT)
    texts = (
        f"6 x {AMOUNTS} in 2 zones of 3 racks",
        "3 x p5.48xlarge,deviceclass/gpu.example.com=4 in 2 zones with pool=x tainted a=b:NoExecute",
    )
    described = [each for text in texts for each in ("--nodes", text)]
    answer = muster(*command, *described, "--save", "nodes.yaml")

    text = Path("nodes.yaml").read_text(encoding="utf-8")
    assert [f"# --nodes '{each}'" for each in texts] == text.splitlines()[:2]
    assert [*documents(text)] == described_objects(parse_descriptions(texts))
    again = muster(*command, "--objects", "nodes.yaml")
    assert (answer.exit_code, answer.stdout) == (again.exit_code, again.stdout)
    assert "karpenter.sh" in answer.stderr
    assert "karpenter.sh" not in again.stderr


def test_compile_creates_a_pod_of_a_daemon_for_each_described_node():
    saved("mine.json", AGENT)
    tainted = f"2 x {AMOUNTS} tainted a=b:NoSchedule"
    answer = muster("compile", "--pods", "--format", "json", "mine.json", "--nodes", f"3 x {AMOUNTS}", "--nodes", tainted, status=0)
    assert [each["kind"] for each in json.loads(answer.stdout)["items"]] == ["Pod"] * 3


def test_topology_shows_the_racks():
    lines = muster("topology", "--nodes", EXAMPLE, status=0).stdout.splitlines()
    assert [line.split()[1:3] for line in lines if "rack-" in line] == [[f"rack-{number}", "8"] for number in (1, 2, 3, 4)]


def test_described_nodes_are_beside_given_ones():
    saved("mine.json", TRAIN)
    cluster = saved("cluster.json", node("node-001", cpu="8", memory="32Gi"))
    arguments = ("mine.json", "--objects", cluster, "--nodes", f"2 x {AMOUNTS}")

    assert muster("fit", *arguments, status=1).stdout.startswith("✗ does not fit")
    line = muster("fit", *arguments, "--nodes", f"1 x {AMOUNTS}", status=0).stdout.splitlines()[0]
    assert line == "✓ fits: Job train: 4 pods on node-001, node-002, node-003, node-004"


def test_devices_of_a_class_are_allocated():
    saved("mine.json", CLAIMING, TEMPLATE)
    assert muster("fit", "mine.json", "--nodes", f"1 x {AMOUNTS},deviceclass/gpu.example.com=2").exit_code == 0
    assert muster("fit", "mine.json", "--nodes", f"1 x {AMOUNTS},deviceclass/gpu.example.com=1").exit_code == 1


WHAT_IF = {
    "as it is": ((), "✓ fits: Job train: 4 pods on node-001, node-002, node-003, node-004"),
    "drained": (("--drain", "rack=rack-1"), "✗ does not fit"),
    "cordoned": (("--cordon", "node-002"), "✗ does not fit"),
    "cordoned by label": (("--cordon", f"{RACK}=rack-2"), "✗ does not fit"),
    "cordoned and added": (
        ("--cordon", "node-002,node-003", "--add-nodes", "2 like node-001"),
        "✓ fits: Job train: 4 pods on node-001, node-001-added-1, node-001-added-2, node-004",
    ),
    "added like one": (("--drain", "node-004", "--add-nodes", "1", "--like", "node-001"), "✓ fits: Job train: 4 pods on"),
}


@pytest.mark.parametrize(("options", "want"), WHAT_IF.values(), ids=WHAT_IF)
@pytest.mark.parametrize("command", ["fit", "simulate"])
def test_nodes_are_removed_closed_and_added(command, options, want):
    saved("mine.json", TRAIN)
    answer = muster(command, "mine.json", "--nodes", f"4 x {AMOUNTS} in 2 racks", *options, "--format", "json")
    text = muster(command, "mine.json", "--nodes", f"4 x {AMOUNTS} in 2 racks", *options)
    placed = answer.exit_code == 0

    assert placed == want.startswith("✓")
    assert command == "simulate" or text.stdout.startswith(want)


def test_running_pods_stay_on_a_cordoned_node():
    cluster = saved("cluster.json", node("n1"), node("n2"), pod("old", on="n1"))
    saved("mine.json", pod("new"))
    answer = muster("fit", "mine.json", "--objects", cluster, "--cordon", "n1", "--all", status=0)

    assert answer.stdout.startswith("✓ fits: Pod default/new: 1 pod on n2")
    assert "default/old" not in answer.stdout


def test_daemons_get_a_pod_on_an_added_node_and_none_on_a_drained_one():
    saved("mine.json", AGENT)
    options = ("--nodes", f"3 x {AMOUNTS}", "--drain", "node-003", "--add-nodes", "1 like node-001", "--cordon", "node-002")
    line = muster("fit", "mine.json", *options, status=0).stdout.splitlines()[0]

    assert line == "✓ fits: DaemonSet agent: 3 pods on node-001, node-001-added-1, node-002"


def test_other_objects_of_the_cluster_remain_with_a_changed_node():
    """Quotas of Kueue are no objects of placement."""
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}}
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}]},
    }
    local = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"clusterQueue": "q"},
    }
    cluster = saved("cluster.json", node("n1", cpu="99"), node("n2", cpu="99"), flavor, queue, local)
    queued = {**TRAIN, "metadata": {**TRAIN["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "l"}}}
    saved("mine.json", queued)
    plain = muster("fit", "mine.json", "--objects", cluster).stdout.splitlines()[:2]

    assert plain[1].startswith("  queue q leaves 1 cpu")
    assert plain == muster("fit", "mine.json", "--objects", cluster, "--cordon", "n2").stdout.splitlines()[:2]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(("fit", "mine.json", "--save", "x"), "--save needs --nodes", id="fit: nothing to save"),
        pytest.param(("topology", "--objects", "mine.json", "--save", "x"), "--save needs --nodes", id="topology: nothing to save"),
        pytest.param(("compile", "mine.json", "--save", "x"), "--save needs --nodes", id="compile: nothing to save"),
        pytest.param(("simulate", "mine.json", "--save", "x"), "--save needs --nodes", id="simulate: nothing to save"),
        pytest.param(("simulate", "--batch", "-", "--nodes", EXAMPLE, "--save", "x"), "leave out --batch", id="batch"),
        pytest.param(("topology", "--nodes", EXAMPLE, "--save", "no/x"), "'no/x' cannot be written", id="no directory"),
        pytest.param(("topology", "--nodes", EXAMPLE, "--save", "-"), "--save must be a file", id="standard output"),
        pytest.param(("fit", "mine.json", "--nodes", "4 x cpu=8,memory=64GB"), "'memory=64GB' (character 11)", id="mistake"),
        pytest.param(("fit", "mine.json", "--nodes", EXAMPLE, "--cordon", "rack=rack-9"), "did you mean rack-", id="unknown rack"),
        pytest.param(("fit", "mine.json", "--nodes", EXAMPLE, "--drain", "node-1"), "there is no node 'node-1'", id="unknown node"),
        pytest.param(("fit", "mine.json", "--nodes", EXAMPLE, "--like", "node-001"), "each number needs a node", id="like alone"),
    ],
)
def test_mistakes_are_one_line(arguments, want):
    saved("mine.json", TRAIN)
    answer = muster(*arguments, status=2)

    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert want in answer.stderr


def test_a_line_of_a_batch_describes_nodes():
    line = {"id": 1, "objects": [pod("p")], "options": {"nodes": f"2 x {AMOUNTS}", "cordon": ["node-001"]}}
    wrong = {"id": 2, "objects": [], "options": {"nodes": [1]}}
    answers = muster("simulate", "--batch", "-", text=f"{json.dumps(line)}\n{json.dumps(wrong)}\n", status=2).stdout.splitlines()
    first, second = map(json.loads, answers)

    assert first["decisions"][0]["assignments"] == {"default/p": "node-002"}
    assert second["error"] == f"option nodes: must be a list of strings such as {EXAMPLE!r}"
