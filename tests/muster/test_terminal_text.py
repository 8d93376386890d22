"""Text for people: no character of an input controls a terminal, and none begins a line that a CI would obey."""

from __future__ import annotations

import copy
import json

import pytest
from click.testing import CliRunner

from muster.cli import main
from tests.muster.simulated import node, pod
from validators.reports.escape import printable_lines

POISON = "\x1b]0;x\x07\x9b2J\u202e\n::warning file=x::injected"
LABEL = "topology.kubernetes.io/zone"
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}}
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha3",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "schedulingConstraints": {"topology": [{"key": LABEL}]},
        "priorityClassName": "c",
        "workloadRef": {"workloadName": "w", "templateName": "t"},
    },
}
MEMBER = pod("p", cpu=1)
MEMBER["spec"] |= {
    "schedulingGroup": {"podGroupName": "g"},
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "nodeSelector": {"a": "b"},
}
OBJECTS = [
    {**node("n1", cpu="1"), "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}},
    GROUP,
    MEMBER,
    {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"parallelism": 1, "template": TEMPLATE}},
    {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "s"}, "spec": {"odd": 1}},
    {"apiVersion": "example.com/v1", "kind": "Trainer", "metadata": {"name": "t"}, "spec": {"template": TEMPLATE}},
]


def poisoned(value, path=()):
    """Yield copies of *value*, each with the poison at the end of one string, or of one key."""
    if isinstance(value, str):
        yield path, value + POISON
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            for place, changed in poisoned(inner, (*path, key)):
                result = copy.copy(value)
                result[key] = changed
                yield place, result
            if isinstance(value, dict):
                yield (*path, key, "key"), {(each + POISON if each == key else each): inner for each, inner in value.items()}


CASES = [
    pytest.param(number, changed, id=f"{each['kind']} {'.'.join(map(str, path))}")
    for number, each in enumerate(OBJECTS)
    for path, changed in poisoned(each)
]


def assert_harmless(result):
    assert result.exception is None or isinstance(result.exception, SystemExit)
    lines = (result.stdout + result.stderr).split("\n")
    assert [] == [line for line in lines if not line.isprintable() or line.lstrip().startswith("::")]


def run(*arguments):
    result = CliRunner().invoke(main, [*arguments])
    assert_harmless(result)
    return result


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.json").write_text(json.dumps(node("n2", cpu="1")))
    return tmp_path


@pytest.mark.parametrize(("number", "changed"), CASES)
def test_values_of_objects(folder, number, changed):
    objects = [*OBJECTS[:number], changed, *OBJECTS[number + 1 :]]
    (folder / "path.json").write_text("\n".join(map(json.dumps, objects)))
    (folder / "one.json").write_text(json.dumps(changed))
    run("fit", "path.json", "--objects", "cluster.json", "-v")
    run("fit", "one.json", "--objects", "cluster.json", "--gang", "--all")
    run("simulate", "path.json", "-v", "--strategy", "complete", "--remedies", "2")
    run("topology", "--objects", "path.json", "-v")
    run("tree", "path.json")


@pytest.mark.parametrize("command", ["fit", "simulate", "snapshot", "topology", "compile", "migrate", "tree", "lint", "doctor"])
def test_names_of_files_and_directories(folder, command):
    strange = folder / POISON.replace("/", "")
    strange.mkdir()
    (strange / f"a{POISON}.yaml").write_text("apiVersion: v1\nkind: [\n")
    option = ["--objects"] if command == "topology" else []
    run(command, *option, strange.name)
    run(command, *option, f"{strange.name}/a{POISON}.yaml")
    run(command, *option, "missing" + POISON)
    (strange / f"a{POISON}.yaml").unlink()
    run(command, *option, strange.name)


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "cluster.json", "--topology", POISON, "--gang"],
        ["fit", "cluster.json", POISON],
        ["fit", "cluster.json", "--output", POISON],
        ["fit", "cluster.json", f"--x{POISON}"],
        ["simulate", "cluster.json", "--order", POISON],
        ["simulate", "cluster.json", "--drain", POISON],
        ["simulate", "cluster.json", "--add-nodes", POISON],
        ["simulate", "cluster.json", "--scheduler-name", POISON],
        ["simulate", "cluster.json", "--ignore", POISON],
        ["simulate", "cluster.json", "--plugin", POISON],
        ["simulate", "cluster.json", "--strategy", POISON],
        ["simulate", "cluster.json", "--feature-gates", POISON],
        ["topology", POISON, "--objects", "cluster.json"],
        ["explain", POISON],
        ["schema", POISON],
        ["why", POISON],
        [POISON],
    ],
)
def test_arguments(arguments):
    run(*arguments)


def test_line_ends_and_colours_are_kept():
    assert "\x1b[1mhead\x1b[0m\n  a\n" == printable_lines("\x1b[1mhead\x1b[0m\n  a\n")
    assert "\\x1b[2J\\x07\\x0d\n" == printable_lines("\x1b[2J\x07\r\n")


@pytest.mark.parametrize("spaces", range(60, 100))
def test_a_folded_line_is_no_command(folder, spaces):
    odd = {**OBJECTS[4], "metadata": {"name": "a" * spaces + " ::error file=x::injected"}}
    (folder / "path.json").write_text(json.dumps(odd))
    run("fit", "path.json", "--objects", "cluster.json")
    assert "\\::error\n  \\##[error]\n" == printable_lines("::error\n  ##[error]\n")
