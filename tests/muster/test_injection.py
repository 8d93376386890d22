"""Names, labels and values of objects in every format of every command: none means anything to a terminal, a browser, a CI or a parser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from click.testing import CliRunner

from muster.cli import main
from tests.muster import paged
from tests.muster.doctor import worlds
from tests.muster.doctor.test_command import PAIR
from tests.muster.simulated import node
from tests.muster.test_snapshot_cluster import api  # noqa: F401 - a fixture
from tests.muster.test_terminal_text import LABEL, OBJECTS
from tests.muster.why.test_why import DECISION, EXPLAIN, GROUP, TEAM, WORKERS, conditioned, server  # noqa: F401 - a fixture
from tests.webhooks.running import REVIEW

POISON = "\x1b[2J\x9b2J\x7f\u202e\r\n::error file=x::injected\n##[error]injected\n<script>alert('x')</script>]]>[x](javascript:y)|`"
MARK = "[2J"
"""Part of the poison that every format shows as it is, also one that shortens names."""
NAMES = {"name", "namespace", "podGroupName", "workloadName", "templateName", "nodeName", "priorityClassName", "image", "key"}
LABELS = {"labels", "annotations", "nodeSelector", "matchLabels"}
RETIRED = [
    {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default", "labels": {"a": "b"}, "annotations": {"a": "b"}},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "j"},
            "podGroups": [{"name": "t", "policy": {"gang": {"minCount": 2}}}],
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"workloadRef": {"name": "w", "podGroup": "t", "podGroupReplicaKey": "0"}, "containers": [{"name": "c", "image": "x"}]},
    },
]
ZONED = {**node("n3"), "metadata": {"name": "n3", "labels": {LABEL: "z"}}}
PLACES = {
    "names": lambda path: path[-1] in NAMES,
    "labels": lambda path: bool(LABELS & {*path[:-1]}),
    "zones": lambda path: path[-1] == LABEL,
    "values": lambda path: path[-1] not in NAMES | {"apiVersion", "kind"} and not LABELS & {*path},
    "kinds": lambda path: path == ("kind",),
}


def poisoned(value, is_place, path=()):
    """Return a copy of *value* with the poison at the end of each string at a place, and of the key of each label."""
    if isinstance(value, str):
        return value + POISON if is_place(path) else value
    if isinstance(value, list):
        return [poisoned(each, is_place, path) for each in value]
    if isinstance(value, dict):
        in_labels = path and path[-1] in LABELS
        return {
            key + POISON if in_labels and key != LABEL and is_place((*path, key)) else key: poisoned(each, is_place, (*path, key))
            for key, each in value.items()
        }
    return value


def is_line(line: str) -> bool:
    """Return true for a line that neither a terminal nor a runner of a CI obeys."""
    return line.isprintable() and not line.lstrip().startswith(("::", "##["))


def text(output: str) -> None:
    assert [line for line in output.split("\n") if not is_line(line)] == []


def json_text(output: str) -> None:
    text(output)
    json.loads(output)


def json_lines(output: str) -> None:
    text(output)
    for line in output.splitlines():
        json.loads(line)


def yaml_text(output: str) -> None:
    text(output)
    list(yaml.safe_load_all(output))


def html(output: str) -> None:
    text(output)
    document = paged.read(output)
    assert len(document.all("script")) <= 1
    attributes = {(name, value or "") for each in document.walk() for name, value in each.attributes.items()}
    assert [name for name, value in attributes if name.startswith("on") or value.lstrip().startswith("javascript:")] == []


def sarif(output: str) -> None:
    json_text(output)
    (run,) = json.loads(output)["runs"]
    messages = [each["message"]["text"] for each in run["results"]]
    # A viewer makes a link of [text](address).
    assert [each for each in messages if "](" in each] == []
    text("\n".join(messages))


def junit(output: str) -> None:
    text(output)
    assert {each.tag for each in ET.fromstring(output).iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error", "system-out"}


def github(output: str) -> None:
    lines = output.splitlines()
    commands = [each for each in lines if each.lstrip().startswith(("::", "##["))]
    assert [
        each for each in commands if not re.match(r"::(error|warning) file=[^,:]*,line=\d+,endLine=\d+,col=\d+,endColumn=\d+,title=", each)
    ] == []
    assert [each for each in commands if "file=x" in each.partition("title=")[0]] == []
    text("\n".join(each.removeprefix("::") for each in lines))


def markdown(output: str) -> None:
    text(output)
    rows = [each for each in output.splitlines() if each.startswith("|")]
    assert [each for each in rows if len(re.findall(r"(?<!\\)\|", each)) != 6] == []
    assert re.findall(r"(?<!\\)[<>`\[\]]", "".join(rows)) == []


CLUSTER = ("--objects", "cluster.json")
COMMANDS = [
    *(
        pytest.param(("lint", "objects.json", "--format", name), judge, id=f"lint {name}")
        for name, judge in {
            "text": text,
            "json": json_text,
            "sarif": sarif,
            "junit": junit,
            "github": github,
            "gitlab": json_text,
            "markdown": markdown,
        }.items()
    ),
    *(
        pytest.param((*command, "--format", name), judge, id=f"{command[0]} {name}")
        for command in (
            ("fit", "objects.json", "--all", *CLUSTER),
            ("simulate", "objects.json", "--strategy", "complete"),
        )
        for name, judge in {"text": text, "json": json_text, "html": html}.items()
    ),
    *(
        pytest.param((*command, "--format", name), judge, id=f"{command[0]} {name}")
        for command in (("topology", "--objects", "objects.json", "-v"), ("tree", "objects.json"), ("doctor", "installation.yaml"))
        for name, judge in {"text": text, "json": json_text}.items()
    ),
    pytest.param(("compile", "objects.json"), yaml_text, id="compile yaml"),
    pytest.param(("compile", "objects.json", "--format", "json"), json_text, id="compile json"),
    pytest.param(("migrate", "retired.yaml"), yaml_text, id="migrate yaml"),
    pytest.param(("migrate", "retired.yaml", "--in-place"), text, id="migrate text"),
    pytest.param(("migrate", "retired.yaml", "--in-place", "--format", "json"), json_text, id="migrate json"),
    pytest.param(("migrate", "retired.yaml", "--diff"), text, id="migrate diff"),
    pytest.param(("review", "reviews.jsonl"), json_lines, id="review"),
    pytest.param(("snapshot", "objects.json"), json_text, id="snapshot"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.parametrize(("command", "judge"), COMMANDS)
def test_nothing_of_an_object_is_obeyed(folder, command, judge):
    outputs = [of_place(folder, place, command, judge) for place in PLACES]

    assert any(MARK in each for each in outputs)


def of_place(folder, place, command, judge) -> str:
    """Run a command on objects with the poison at a place; return its output."""
    objects = [poisoned(each, PLACES[place]) for each in (*OBJECTS, ZONED)]
    (folder / "objects.json").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    (folder / "retired.yaml").write_text(yaml.safe_dump_all(poisoned(each, PLACES[place]) for each in RETIRED), encoding="utf-8")
    (folder / "cluster.json").write_text(json.dumps(objects[0]), encoding="utf-8")
    installation = [poisoned(each, PLACES[place]) for each in worlds.objects(PAIR).values()]
    (folder / "installation.yaml").write_text(yaml.safe_dump_all(installation), encoding="utf-8")
    records = [{**REVIEW, "request": {**REVIEW["request"], "object": each}} for each in objects]
    (folder / "reviews.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")

    return run(command, judge)


@pytest.mark.parametrize(("form", "judge"), [("text", text), ("json", json_text)])
@pytest.mark.parametrize("place", ["status", "sidecar", "nodes"])
def test_nothing_of_an_answer_is_obeyed(folder, server, place, form, judge):  # noqa: F811 - the fixture above
    """Objects and the sidecar's decision come from the API server."""
    everywhere = PLACES["names"], PLACES["labels"], PLACES["values"]
    if place == "status":
        server.answers[f"{GROUP}/v1beta1/{TEAM}/podgroups/workers"] = conditioned(
            WORKERS, "PodGroupInitiallyScheduled", "R" + POISON, POISON
        )
    elif place == "sidecar":
        changed = poisoned(DECISION, lambda path: any(each(path) for each in everywhere))
        server.answers[f"{EXPLAIN}/workers"] = changed
    else:
        version, kind, nodes = server.lists["/api/v1/nodes"]
        server.lists["/api/v1/nodes"] = version, kind, [poisoned(each, PLACES["names"]) for each in nodes]
    output = run(("why", "podgroup/workers", "-n", "team", "--format", form), judge)
    assert place == "nodes" or MARK in output


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_nothing_of_an_unknown_name_is_obeyed(form):
    assert MARK in run(("explain", POISON, "--format", form), text)


def run(command, judge) -> str:
    result = CliRunner().invoke(main, command)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    # A command line that is refused has no result.
    if result.exit_code != 2 or result.stdout:
        judge(result.stdout)
    text(result.stderr)
    return result.output
