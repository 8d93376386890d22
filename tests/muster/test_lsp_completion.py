"""Completion of ``muster lsp``, in documents that are being typed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path

import pytest
from lsprotocol import types

from kubeapi.priority import SYSTEM_CLASSES
from muster.commands.lsp import known_fields
from tests.muster.editor import started

HEAD = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: a}\nspec:\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
NAMES = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica
    schedulingPolicy: {basic: {}}
    podGroupTemplates:
    - name: workers
      schedulingPolicy: {gang: {minCount: 2}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: wrong}
spec:
  podGroupTemplates: [{name: other, schedulingPolicy: {}}]
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: top}
spec: {schedulingPolicy: {basic: {}}, workloadRef: {workloadName: train, templateName: replica}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: elsewhere, namespace: team}
spec: {schedulingPolicy: {basic: {}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers-0}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: of-volcano}
spec: {}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {}
---
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {example.com/rack: a}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {island: {string: i1}}}]
"""


def run(steps: Coroutine[object, object, None]) -> None:
    asyncio.run(steps)


def labels_at(top: Path, *marked: str, name: str = "a.yaml", names: str = "") -> list[list[str]]:
    """Return the labels at the mark in each text."""
    (top / "names.yaml").write_text(names or NAMES, encoding="utf-8")
    listed: list[list[str]] = []

    async def steps() -> None:
        async with started(top) as editor:
            await editor.open("names.yaml")
            await editor.open(name, "")
            listed.extend([[*await editor.completions(name, each)] for each in marked])

    run(steps())
    return listed


@pytest.mark.parametrize(
    ("marked", "want"),
    [
        pytest.param("|", ["apiVersion", "kind", "metadata"], id="an empty file"),
        pytest.param("kind: PodGroup\n|\n", ["apiVersion", "metadata"], id="a kind of several groups"),
        pytest.param(HEAD + "  schedulingPolicy:\n    ga|", ["basic", "gang"], id="the last line"),
        pytest.param(
            HEAD + "  disruptionMode: {|\n  schedulingPolicy: [\n", ["all", "single"], id="a bracket that is not closed, and an error below"
        ),
        pytest.param(
            HEAD + "  wrong\n  schedulingPolicy: {basic: {}, |}\n", ["gang"], id="keys that are written are left out; an error above"
        ),
        pytest.param(HEAD + "  schedulingPolicy: {basic: {}, ga|ng: {}}\n", ["gang"], id="a key is offered at its own place"),
        pytest.param(HEAD + "  schedulingConstraints:\n    topology:\n    - |", ["key"], id="an item of a list"),
        pytest.param("kind: X\n---\n" + HEAD + "  disruptionMode:\n    |\n---\nkind: {", ["all", "single"], id="a document between others"),
        pytest.param(
            f"apiVersion: v1\nkind: List\nitems:\n- {HEAD[:-1]}".replace("\n", "\n  ").replace(
                "  kind: List\n  items:\n  -", "kind: List\nitems:\n-"
            )
            + "\n    disruptionMode:\n      |",
            ["all", "single"],
            id="an item of a list of objects",
        ),
        pytest.param(HEAD.replace("\n", "\r\n") + "  disruptionMode:\r\n    s|\r\n", ["all", "single"], id="line ends of Windows"),
        pytest.param(HEAD + "  schedulingPolicy: {} # |", [], id="a comment"),
        pytest.param(HEAD + "  priorityClassName: >-\n    |", [], id="a block scalar"),
        pytest.param(HEAD + "  priorityClassName: a\n    |", [], id="below a single value"),
        pytest.param("apiVersion: example.com/v1\nkind: Unknown\nspec:\n  |", [], id="a kind without a schema"),
        pytest.param(
            "kind: DaemonSet\nspec:\n  updateStrategy:\n    |",
            ["rollingUpdate", "type"],
            id="a kind of one version, which is not written yet",
        ),
        pytest.param(
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nspec:\n  leaderWorkerTemplate:\n"
            "    workerTemplate:\n      spec:\n        schedulingGroup:\n          |",
            ["podGroupName"],
            id="a pod template of another project",
        ),
    ],
)
def test_keys(tmp_path: Path, marked: str, want: list[str]) -> None:
    assert labels_at(tmp_path, marked) == [want]


def test_required_keys_come_first_and_have_help(tmp_path: Path) -> None:
    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("a.yaml", "")
            found = await editor.completions("a.yaml", HEAD + "  |")
            assert next(iter(found)) == "schedulingPolicy"
            assert found["schedulingPolicy"].detail == "mapping, required"
            help_text = found["preemptionPolicy"].documentation
            assert isinstance(help_text, types.MarkupContent)
            assert "Default: `PreemptLowerPriority`" in help_text.value
            found = await editor.completions("a.yaml", POD + "  containers:\n  - |")
            assert found["imagePullPolicy"].documentation == types.MarkupContent(
                types.MarkupKind.Markdown, "One of Always, IfNotPresent, Never"
            )
            found = await editor.completions("a.yaml", POD + "  |")
            assert {"schedulingGroup", "containers", "tolerations"} <= {*found}
            assert "workloadRef" not in found

    run(steps())


@pytest.mark.parametrize(
    ("marked", "label", "want"),
    [
        pytest.param("  dis|\n", "disruptionMode", "  disruptionMode:\n    \n", id="a mapping begins a line"),
        pytest.param("  |", "resourceClaims", "  resourceClaims:\n    - ", id="a list begins with an item"),
        pytest.param("  pri|: 5\n", "priority", "  priority: 5\n", id="a key that has a value"),
        pytest.param("  disruptionMode: {a|}\n", "all", "  disruptionMode: {all: }\n", id="flow style"),
        pytest.param("  'pri|'\n", "priority", "  'priority': \n", id="quotes"),
        pytest.param("  resourceClaims:\n    |", "name", "  resourceClaims:\n    - name: ", id="the dash of an item"),
        pytest.param("  preemptionPolicy:|", "Never", "  preemptionPolicy: Never", id="directly after the colon"),
        pytest.param("  preemptionPolicy: Ne|v # x\n", "Never", "  preemptionPolicy: Never # x\n", id="a value before a comment"),
        pytest.param('  preemptionPolicy: "|"\n', "Never", '  preemptionPolicy: "Never"\n', id="a value in quotes"),
        pytest.param(
            "  \U0001f4a9: x\n  disruptionMode: {\U0001f4a9: 1, s|}",
            "single",
            "  \U0001f4a9: x\n  disruptionMode: {\U0001f4a9: 1, single: }",
            id="units of UTF-16",
        ),
    ],
)
def test_what_is_written(tmp_path: Path, marked: str, label: str, want: str) -> None:
    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("a.yaml", "")
            assert await editor.completed("a.yaml", HEAD + marked, label) == HEAD + want

    run(steps())


def test_json(tmp_path: Path) -> None:
    text = '{"apiVersion": "v1", "kind": "Pod", "spec": {"restartPolicy": "|", "hostNetwork": t}}'

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("a.json", "")
            done = await editor.completed("a.json", text, "Never")
            assert done == text.replace("|", "Never")
            assert await editor.completed("a.json", done.replace(": t}", ": |}"), "true") == done.replace(": t}", ": true}")
            done = await editor.completed("a.json", text.replace("|", "Never").replace('{"rest', '{|, "rest'), "hostPID")
            assert '"spec": {"hostPID": , "restartPolicy"' in done
            assert await editor.completions("a.json", '{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [|]}}') == {}
            item = (await editor.completions("a.json", json.dumps({"kind": "Pod", "apiVersion": "|"})))["v1"]
            assert item.filter_text == '"v1'

    run(steps())


@pytest.mark.parametrize(
    ("marked", "want"),
    [
        (POD + "  schedulingGroup: {podGroupName: |}", ["workers-0"]),
        (POD.replace("name: p", "namespace: team, name: p") + "  schedulingGroup:\n    podGroupName: |", ["elsewhere"]),
        (HEAD + "  parentCompositePodGroupName: t|", ["top"]),
        (HEAD + "  workloadRef: {workloadName: |", ["train", "wrong"]),
        (HEAD + "  workloadRef: {workloadName: train, templateName: |", ["workers"]),
        (HEAD + "  workloadRef:\n    templateName: |\n    workloadName: wrong", ["other"]),
        (HEAD + "  workloadRef:\n    templateName: |", ["workers", "other"]),
        (HEAD.replace("kind: ", "kind: Composite") + "  workloadRef:\n    templateName: |", ["replica"]),
        (HEAD + "  priorityClassName: |", ["high", *sorted(SYSTEM_CLASSES)]),
        (HEAD + "  resourceClaims:\n  - name: x\n    resourceClaimTemplateName: |", ["gpus"]),
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nspec:\n  devices:\n    requests:\n    - exactly: {deviceClassName: |}",
            ["gpu.example.com"],
        ),
        (
            HEAD + "  schedulingConstraints: {topology: [{key: |}]}",
            [
                "example.com/rack",
                "gpu.example.com/island",
                "kubernetes.io/hostname",
                "topology.kubernetes.io/region",
                "topology.kubernetes.io/zone",
            ],
        ),
        (
            (
                "apiVersion: batch/v1\nkind: Job\nmetadata:\n  annotations:\n    scheduling.k8s.io/workload-name: train\n"
                "    scheduling.k8s.io/group-template-name: |"
            ),
            ["replica", "workers"],
        ),
        (POD + "  topologySpreadConstraints:\n  - whenUnsatisfiable: |", ["DoNotSchedule", "ScheduleAnyway"]),
        (POD + "  hostNetwork: |", ["true", "false"]),
        (HEAD + "  disruptionMode: |", []),
        (
            "apiVersion: |\nkind: PodGroup",
            ["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", "scheduling.muster.dev/v1beta1", "scheduling.volcano.sh/v1beta1"],
        ),
        ("kind: |\napiVersion: scheduling.muster.dev/v1beta1", ["CompositePodGroup", "PodGroup", "Workload"]),
        ("kind: |\napiVersion: scheduling.k8s.io/v1beta1", ["CompositePodGroup", "PodGroup", "Workload"]),
        ("kind: |", [*known_fields.versions()]),
    ],
)
def test_values_and_names(tmp_path: Path, marked: str, want: list[str]) -> None:
    """Names are those of the object's namespace; templates those of the Workload and of the kind of the group."""
    assert labels_at(tmp_path, marked) == [want]


def test_names_of_a_file_that_is_typed_remain_known(tmp_path: Path) -> None:
    (tmp_path / "names.yaml").write_text(NAMES, encoding="utf-8")

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("names.yaml")
            await editor.change("names.yaml", NAMES.replace("spec:\n", "spec: {\n", 1))
            await editor.open("a.yaml", "")
            assert [*await editor.completions("a.yaml", HEAD + "  workloadRef: {workloadName: train, templateName: |")] == ["workers"]
            await editor.change("names.yaml", NAMES.replace("name: train}", "name: trains}"))
            assert [*await editor.completions("a.yaml", HEAD + "  workloadRef: {workloadName: |")] == ["trains", "wrong"]

    run(steps())


def test_each_name_is_offered_once(tmp_path: Path) -> None:
    assert labels_at(tmp_path, HEAD + "  workloadRef: {templateName: |", names=f"{NAMES}---\n{NAMES}") == [["workers", "other"]]


def test_versions_are_those_of_the_mirrored_kubernetes(tmp_path: Path) -> None:
    async def steps() -> None:
        async with started(tmp_path, "--kubernetes", "1.36") as editor:
            await editor.open("a.yaml", "")
            offered = [*await editor.completions("a.yaml", "kind: Workload\napiVersion: |")]
            assert offered == ["scheduling.k8s.io/v1alpha2", "scheduling.muster.dev/v1beta1"]

    run(steps())


def test_files_that_are_not_linted_have_no_completions(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("a.yaml\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text("\n", encoding="utf-8")
    assert labels_at(tmp_path, "|") == [[]]
