"""Outline and rename of ``muster lsp``."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.muster.editor import Editor, applied, started

WORKLOAD = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica  # of the model
    schedulingPolicy: {basic: {}}
    podGroupTemplates:
    - {name: "workers", schedulingPolicy: {gang: {minCount: 2}}}
  podGroupTemplates:
  - schedulingPolicy: {basic: {}}
    name: driver
"""
GROUPS = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: top}
spec: {schedulingPolicy: {basic: {}}, workloadRef: {workloadName: train, templateName: replica}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers, labels: {"\U0001f4a9": workers}}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  parentCompositePodGroupName: top
  workloadRef: {workloadName: "train", templateName: 'workers'}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers, namespace: team}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  workloadRef: {workloadName: train, templateName: workers}
"""
PODS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: workers}
spec:
  selector: {matchLabels: {app: workers}}
  serviceName: workers
  template:
    metadata: {labels: {app: workers}}
    spec:
      schedulingGroup: {podGroupName: workers}
      containers: [{name: workers, image: workers}]
---
apiVersion: batch/v1
kind: Job
metadata:
  name: job
  annotations:
    scheduling.k8s.io/workload-name: train
    scheduling.k8s.io/group-template-name: workers
    scheduling.k8s.io/parent-compositepodgroup: top
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}
"""
FILES = {"workload.yaml": WORKLOAD, "groups.yaml": GROUPS, "pods.yaml": PODS}


def run(steps: Coroutine[object, object, None]) -> None:
    asyncio.run(steps)


@contextlib.asynccontextmanager
async def opened(top: Path) -> AsyncIterator[Editor]:
    """Start an editor in which all files are open."""
    for name, text in FILES.items():
        (top / name).write_text(text, encoding="utf-8")
    async with started(top) as editor:
        for name in FILES:
            await editor.open(name)
        yield editor


def tree(symbols: object) -> object:
    """Return the names of symbols as a tree."""
    assert isinstance(symbols, list | tuple)
    return {f"{each.name} ({each.detail})": tree(each.children or []) for each in symbols}


HIERARCHICAL = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True)
    )
)


def test_outline(tmp_path: Path) -> None:
    """Objects in order, templates as trees; each name is selected inside the range of its object."""

    async def steps() -> None:
        async with started(tmp_path, capabilities=HIERARCHICAL) as editor:
            await editor.open("a.yaml", f"{WORKLOAD}---\nbroken: [\n---\nkind: ConfigMap\napiVersion: v1\n---\n{GROUPS}")
            symbols = await editor.outline("a.yaml")
            assert tree(symbols) == {
                "train (Workload)": {
                    "driver (template of PodGroups)": {},
                    "replica (template of CompositePodGroups)": {"workers (template of PodGroups)": {}},
                },
                "ConfigMap (None)": {},
                "top (CompositePodGroup)": {},
                "workers (PodGroup)": {},
            }
            assert [each.name for each in symbols] == ["train", "ConfigMap", "top", "workers", "workers"]
            waiting = [each for each in symbols if isinstance(each, types.DocumentSymbol)]
            lines = {}
            while waiting:
                symbol = waiting.pop()
                assert symbol.range.start <= symbol.selection_range.start <= symbol.selection_range.end <= symbol.range.end
                lines[symbol.name, symbol.detail] = symbol.range.start.line, symbol.range.end.line, symbol.selection_range.start
                waiting += symbol.children or ()
            assert lines["train", "Workload"] == (0, 11, types.Position(2, 11))
            assert lines["replica", "template of CompositePodGroups"] == (5, 8, types.Position(5, 4))
            assert lines["driver", "template of PodGroups"] == (10, 11, types.Position(11, 4))
            assert await editor.outline("nowhere.yaml") == []

    run(steps())


def test_outline_without_a_tree(tmp_path: Path) -> None:
    """An editor that shows no tree gets a list."""

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("a.yaml", WORKLOAD)
            symbols = await editor.outline("a.yaml")
            assert [(each.name, each.container_name) for each in symbols if isinstance(each, types.SymbolInformation)] == [
                ("train", None),
                ("driver", "train"),
                ("replica", "train"),
                ("workers", "replica"),
            ]

    run(steps())


@pytest.mark.parametrize(
    "at", [("workload.yaml", 'name: "wor'), ("groups.yaml", "templateName: 'wor"), ("pods.yaml", "group-template-name: ")]
)
def test_rename_of_a_template(tmp_path: Path, at: tuple[str, str]) -> None:
    """From its definition, or from a reference: all references of the namespace change, and nothing else of this name."""
    name, before = at

    async def steps() -> None:
        async with opened(tmp_path) as editor:
            before_it = FILES[name][: FILES[name].index(before) + len(before)]
            known = {each: editor.rules(each) for each in FILES}
            place = await editor.renameable(name, before_it)
            assert place.placeholder == "workers"
            found = await editor.renamed(name, before_it, "learners")
            after = {name: applied(FILES[name], found[name]) for name in found}
            assert after == {
                "workload.yaml": WORKLOAD.replace("workers", "learners"),
                "groups.yaml": GROUPS.replace("'workers'", "'learners'"),
                "pods.yaml": PODS.replace("group-template-name: workers", "group-template-name: learners"),
            }
            for each, text in after.items():
                await editor.change(each, text)
            assert {each: editor.rules(each) for each in FILES} == known

    run(steps())


def test_rename_of_groups_and_workloads(tmp_path: Path) -> None:
    async def steps() -> None:
        async with opened(tmp_path) as editor:
            found = await editor.renamed("pods.yaml", PODS[: PODS.index("podGroupName: ") + 20], "learners")
            assert {name: applied(FILES[name], edits) for name, edits in found.items()} == {
                "groups.yaml": GROUPS.replace("name: workers, labels", "name: learners, labels"),
                "pods.yaml": PODS.replace("podGroupName: workers", "podGroupName: learners"),
            }
            found = await editor.renamed("groups.yaml", GROUPS[: GROUPS.index("top")], "job.1")
            assert {name: applied(FILES[name], edits) for name, edits in found.items()} == {
                "groups.yaml": GROUPS.replace("name: top", "name: job.1").replace("Name: top", "Name: job.1"),
                "pods.yaml": PODS.replace("podgroup: top", "podgroup: job.1"),
            }
            found = await editor.renamed("workload.yaml", WORKLOAD[: WORKLOAD.index("train")], "1e3")
            assert {name: applied(FILES[name], edits) for name, edits in found.items()} == {
                "workload.yaml": WORKLOAD.replace("name: train", 'name: "1e3"'),
                "groups.yaml": GROUPS.replace("workloadName: train", 'workloadName: "1e3"', 1).replace('"train"', '"1e3"'),
                "pods.yaml": PODS.replace("workload-name: train", 'workload-name: "1e3"'),
            }
            assert await editor.renamed("workload.yaml", WORKLOAD[: WORKLOAD.index("train")], "train") == {}

    run(steps())


CUSTOM = {
    "groups.yaml": "apiVersion: scheduling.muster.dev/v1beta1\nkind: PodGroup\nmetadata: {name: workers}\nspec: {schedulingPolicy: {basic: {}}}\n",
    "pods.yaml": PODS.replace("      schedulingGroup: {podGroupName: workers}\n", "").replace(
        "metadata: {labels: {app: workers}}", "metadata: {labels: {app: workers, scheduling.muster.dev/pod-group: workers}}"
    ),
}


@pytest.mark.parametrize("at", [("pods.yaml", "pod-group: "), ("groups.yaml", "{name: ")])
def test_a_label_refers_to_a_pod_group(tmp_path: Path, at: tuple[str, str]) -> None:
    for name, text in CUSTOM.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    name, before = at

    async def steps() -> None:
        async with started(tmp_path) as editor:
            for each, text in CUSTOM.items():
                await editor.open(each, text)
            before_it = CUSTOM[name][: CUSTOM[name].index(before) + len(before)]
            if name == "pods.yaml":
                lines = before_it.splitlines()
                assert await editor.definition(name, len(lines) - 1, len(lines[-1])) == ("groups.yaml", 2, 11)
                assert "PodGroup of the namespace" in await editor.hover(name, len(lines) - 1, len(lines[-1]))
                choices = await editor.completions(name, CUSTOM[name].replace("pod-group: workers", "pod-group: |"))
                assert [*choices] == ["workers"]
                await editor.change(name, CUSTOM[name])
            found = await editor.renamed(name, before_it, "learners")
            assert {file: applied(CUSTOM[file], edits) for file, edits in found.items()} == {
                "groups.yaml": CUSTOM["groups.yaml"].replace("workers", "learners"),
                "pods.yaml": CUSTOM["pods.yaml"].replace("pod-group: workers", "pod-group: learners"),
            }
            with pytest.raises(JsonRpcException, match="must be no more than 63 bytes"):
                await editor.renamed(name, before_it, "a" * 64)

    run(steps())


@pytest.mark.parametrize(
    ("before", "new", "message"),
    [
        pytest.param(
            'name: "', "Learners", 'podGroupTemplates[0].name: Invalid value: "Learners": a lowercase RFC 1123 label', id="capitals"
        ),
        pytest.param('name: "', "", 'Invalid value: "": a lowercase RFC 1123 label', id="empty"),
        pytest.param('name: "', "a.b", "must not contain dots", id="dots in a label"),
        pytest.param('name: "', "a" * 64, "must be no more than 63 bytes", id="too long"),
        pytest.param(
            'name: "', "driver", 'Duplicate value: "driver": must be unique in the whole Workload; already used at spec.podG', id="taken"
        ),
        pytest.param("metadata: {name: ", "a..b", "a lowercase RFC 1123 subdomain", id="an object"),
        pytest.param("kind: ", "a", "only the name of a template, a PodGroup, a CompositePodGroup or a Workload", id="no name"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, before: str, new: str, message: str) -> None:
    """With the words of the rule."""

    async def steps() -> None:
        async with opened(tmp_path) as editor:
            with pytest.raises(JsonRpcException) as refused:
                await editor.renamed("workload.yaml", WORKLOAD[: WORKLOAD.index(before) + len(before)], new)
            assert message in str(refused.value)
            assert refused.value.code == types.LSPErrorCodes.RequestFailed

    run(steps())


def test_workspaces_in_which_a_rename_is_refused(tmp_path: Path) -> None:
    """A taken name, two definitions, none, a text that cannot be read, and names that are written by an alias."""
    anchored = GROUPS.replace("{name: top}", "{name: &n top, labels: {a: *n}}")
    at_group = GROUPS[: GROUPS.index("name: workers") + 6]

    async def refusal(editor: Editor, text: str, files: dict[str, str] | None = None, new: str = "new") -> str:
        for name, content in (files or {}).items():
            await editor.change(name, content)
        with pytest.raises(JsonRpcException) as refused:
            await editor.renamed("groups.yaml", text, new)
        return str(refused.value)

    async def steps() -> None:
        async with opened(tmp_path) as editor:
            await editor.open("more.yaml", "")
            extra = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: new}\nspec: {}\n"
            assert (
                await refusal(editor, at_group, {"more.yaml": extra})
                == "PodGroup default/new exists already, at more.yaml:3: choose another name"
            )
            twice = extra.replace("new", "workers")
            assert "defined more than once, at groups.yaml:8 and more.yaml:3" in await refusal(editor, at_group, {"more.yaml": twice})
            broken = "kind: Pod\nspec: {podGroupName: workers"
            text = await refusal(editor, at_group, {"more.yaml": broken})
            assert text == "more.yaml:2 cannot be read, and may name workers: correct it first"
            assert "groups.yaml:3: an alias, an anchor or a tag writes top" in await refusal(
                editor, anchored[: anchored.index("top")], {"more.yaml": "", "groups.yaml": anchored}
            )
            volcano = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: workers}\n"
            await editor.change("more.yaml", volcano)
            with pytest.raises(JsonRpcException, match="only the name of a template, a PodGroup"):
                await editor.renamed("more.yaml", volcano[: volcano.index("workers")], "new")
            assert "Workload default/train is not in the workspace" in await refusal(
                editor, GROUPS[: GROUPS.index("train")], {"groups.yaml": GROUPS, "workload.yaml": ""}
            )

    run(steps())


def test_rename_in_json(tmp_path: Path) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "a"},
        "spec": {"schedulingPolicy": {"basic": {}}},
    }
    text = json.dumps(group)

    async def steps() -> None:
        async with started(tmp_path) as editor:
            await editor.open("a.json", text)
            before = text[: text.index('"a"') + 2]
            place = await editor.renameable("a.json", before)
            assert (place.range.start.character, place.range.end.character) == (text.index('"a"') + 1, text.index('"a"') + 2)
            assert applied(text, (await editor.renamed("a.json", before, "b"))["a.json"]) == text.replace('"a"', '"b"')

    run(steps())
