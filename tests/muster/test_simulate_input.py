"""Paths to objects: JSON split, YAML parsed, what cannot be read told."""

from __future__ import annotations

import io
import json
import os
import sys

import click
import pytest

from kubeapi import gather
from muster.commands.progress import Progress
from muster.commands.simulate import cluster_input
from muster.render.problem_words import object_words, problem_words, shown_order
from tests.muster.simulated import node, pod

pytestmark = pytest.mark.usefixtures("folder")

NODE, OTHER = json.dumps(node("n1")), json.dumps(node("n2"))
YAML = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\n"


def worded(problems):
    """Return the object and the message of problems, as reports show and sort them."""
    return [(object_words(each), problem_words(each)) for each in sorted(problems, key=shown_order)]


def read(*paths, further=()):
    """The names of what is read, in no order, and the problems."""
    inputs = cluster_input.read_cluster_input(paths, further, Progress())
    kinds, unsorted = gather.gather(inputs.objects)
    names = sorted(gather.written_name(found.text)[1] for listed in kinds.values() for found in listed)
    return names, worded((*inputs.problems, *unsorted))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a.yaml", YAML, id="YAML documents"),
        pytest.param("a.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1"), node("n2")]}), id="a List"),
        pytest.param("a.json", f"{NODE}\n{OTHER}\n", id="JSON Lines"),
        pytest.param("a.jsonl", f"{NODE}\n{OTHER}\n", id="JSON Lines by name"),
        pytest.param("a", f"{json.dumps(node('n1'), indent=1)}{json.dumps(node('n2'), indent=1)}", id="values one after the other"),
        pytest.param("a", f"\ufeff \n{NODE}{OTHER}", id="a byte order mark"),
        pytest.param("a.yaml", f"{NODE}\n---\n{OTHER}\n", id="JSON in YAML documents"),
        pytest.param("a.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n---\n" + OTHER, id="YAML that begins like JSON"),
    ],
)
def test_forms_of_input(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    assert read(name) == (["n1", "n2"], [])


def test_directories_are_read_for_manifests(folder):
    (folder / "below").mkdir()
    (folder / "below" / "a.yaml").write_text(YAML, encoding="utf-8")
    (folder / "b.json").write_text(json.dumps(pod("p")), encoding="utf-8")
    (folder / "notes.txt").write_text("{", encoding="utf-8")

    assert read(".") == (["n1", "n2", "p"], [])


def test_a_file_is_read_once_however_it_is_named(folder):
    (folder / "a.json").write_text(NODE, encoding="utf-8")
    (folder / "link.json").symlink_to("a.json")

    assert cluster_input.read_cluster_input(["a.json", "./a.json", "link.json", "."], (), Progress()).files == 1


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(NODE.encode())))
    assert read("-") == (["n1"], [])


def test_pipes_are_read_by_the_name_they_are_given_by():
    source, sink = os.pipe()
    os.write(sink, NODE.encode())
    os.close(sink)
    assert read(f"/dev/fd/{source}") == (["n1"], [])
    os.close(source)


@pytest.mark.parametrize("strict", [False, True])
def test_pipes_and_devices_below_a_directory_are_problems(folder, strict):
    (folder / "a.json").write_text(NODE, encoding="utf-8")
    os.mkfifo("b.yaml")
    (folder / "c.json").symlink_to("/dev/null")
    inputs = cluster_input.read_cluster_input(["."], (), Progress(), strict=strict)

    kinds = {"/dev/null": "a device", "b.yaml": "a pipe"}
    want = [(name, f"cannot be read: it is {kind}, which is only read if you name it") for name, kind in kinds.items()]
    assert want == worded(inputs.problems)
    assert 1 == len(inputs.objects)


def test_a_broken_line_takes_no_other_with_it(folder):
    (folder / "a.jsonl").write_text(f'{NODE}\n{{"kind": nonsense}}\n{OTHER}\n', encoding="utf-8")
    names, problems = read("a.jsonl")

    assert names == ["n1", "n2"]
    assert [where for where, _ in problems] == ["a.jsonl:2"]
    assert problems[0][1].startswith("is not JSON: ")


@pytest.mark.parametrize(
    ("name", "text", "where", "what"),
    [
        pytest.param("a.yaml", "a: [", "a.yaml:1:5", "it is left out", id="broken YAML"),
        pytest.param("a.json", '{"a": }', "a.json:1:7", "must be JSON", id="broken JSON"),
        pytest.param("a.json", "", "a.json:1:1", "the file has no document", id="an empty file"),
        pytest.param("a.yaml", "a: 1", "a.yaml:1:1", "must be a Kubernetes object", id="some YAML"),
        pytest.param("a.json", f"[{NODE}]", "a.json:1:1", "must be a Kubernetes object", id="a JSON list"),
        pytest.param("a.yaml", "{{ if .Values.x }}\na: 1\n{{ end }}", "a.yaml:1:2", "render it first", id="a template"),
    ],
)
def test_what_cannot_be_read_is_a_problem_with_its_place(folder, name, text, where, what):
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "good.json").write_text(OTHER, encoding="utf-8")
    names, problems = read(".")

    assert names == ["n2"]
    assert [(where, True)] == [(found, what in message) for found, message in problems]


def test_unreadable_file_is_a_problem(folder):
    (folder / "gone.json").symlink_to("nowhere")
    assert read("gone.json") == ([], [("gone.json", "cannot be read: no such file or directory")])


def test_path_that_does_not_exist_is_a_mistake():
    with pytest.raises(click.UsageError, match="'nowhere' must be a file or a directory that exists"):
        read("nowhere")


@pytest.mark.parametrize(
    ("limits", "text", "want"),
    [
        pytest.param({"LARGEST_FILE": len(YAML)}, YAML, None, id="YAML that is just small enough"),
        pytest.param(
            {"LARGEST_FILE": len(YAML) - 1}, YAML, f"must be at most {len(YAML) - 1:,} bytes of YAML", id="YAML that is too large"
        ),
        pytest.param({"LARGEST_FILE": 10}, NODE, None, id="JSON may be larger than YAML"),
        pytest.param({"LARGEST_FILE": 10, "LARGEST_JSON": len(NODE)}, NODE, None, id="JSON that is just small enough"),
        pytest.param(
            {"LARGEST_FILE": 10, "LARGEST_JSON": len(NODE) - 1},
            NODE,
            f"must be at most {len(NODE) - 1:,} bytes",
            id="JSON that is too large",
        ),
        pytest.param({"LARGEST_FILE": 10}, "{" * 20, "is not JSON", id="what is too large to be YAML must be JSON"),
    ],
)
def test_size_is_limited(folder, monkeypatch, limits, text, want):
    for name, value in limits.items():
        monkeypatch.setattr(cluster_input, name, value)
    (folder / "a").write_text(text, encoding="utf-8")
    _, problems = read("a")

    assert [want] == [message[: len(want or "")] for _, message in problems] or (want is None and problems == [])


def test_further_objects_are_added(folder):
    (folder / "a.json").write_text(NODE, encoding="utf-8")
    (folder / "b.json").write_text(OTHER, encoding="utf-8")
    assert read("a.json", further=["b.json"]) == (["n1", "n2"], [])


def test_of_an_object_given_twice_the_inputs_count(folder):
    (folder / "a.json").write_text(json.dumps(node("n1", cpu="1")), encoding="utf-8")
    (folder / "b.json").write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [node("n1", cpu="2"), node("n2")]}), encoding="utf-8"
    )
    inputs = cluster_input.read_cluster_input(["a.json"], ["."], Progress())

    kinds, _ = gather.gather(inputs.objects)
    assert {"n1": "1", "n2": "4"} == {
        found.content()["metadata"]["name"]: found.content()["status"]["allocatable"]["cpu"] for found in kinds["Node"]
    }


def test_objects_of_one_name_in_two_namespaces_are_two(folder):
    other = pod("p")
    other["metadata"]["namespace"] = "other"
    (folder / "a.json").write_text(json.dumps(pod("p")), encoding="utf-8")
    (folder / "b.json").write_text(json.dumps(other), encoding="utf-8")
    assert read("a.json", further=["b.json"])[0] == ["p", "p"]
