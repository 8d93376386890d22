"""Objects of large files, whose texts are not kept in memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kubeapi.gather import gather
from kubeapi.gathered import NameSearch, in_memory
from muster.cli import main
from muster.commands.progress import Progress
from muster.commands.simulate import cluster_input, file_texts, stored_objects
from tests.muster.simulated import node, pod

OBJECTS = [
    *(node(f"n{number}") for number in range(20)),
    *(pod(f"p{number}", on=f"n{number % 20}") for number in range(30)),
    {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": 'a {"b": [}'}},
]


def in_list(items=OBJECTS, indent=None, separators=None, **more):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items, **more}, indent=indent, separators=separators)


def as_kubectl(items=OBJECTS):
    """The fields in alphabetical order, so that the kind of the list is behind its items."""
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}, indent=4)


def as_lines(items=OBJECTS):
    return "\n".join(json.dumps(each) for each in items)


def typeless(kind):
    return [{key: value for key, value in each.items() if key not in {"apiVersion", "kind"}} for each in OBJECTS if each["kind"] == kind]


FORMS = {
    "compact": in_list(separators=(",", ":")),
    "spaces": in_list(),
    "indented": in_list(indent=4),
    "metadata last": in_list(metadata={"resourceVersion": "1"}),
    "kubectl": as_kubectl(),
    "lines": as_lines(),
    "lines with blank ones": "\n\n".join(json.dumps(each) for each in OBJECTS) + "\n\n",
    "PodList": json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": typeless("Pod")}),
}
READ_WHOLE = {
    "kind of typeless items behind them": json.dumps({"items": typeless("Pod"), "kind": "PodList", "apiVersion": "v1"}),
    "second items": in_list()[:-1] + ', "items": []}',
    "list in a list": in_list([*OBJECTS, {"apiVersion": "v1", "kind": "List", "items": [node("inner")]}]),
    "objects one after the other": "".join(json.dumps(each, indent=1) for each in OBJECTS),
    "two documents": in_list() + in_list([node("more")]),
    "byte order mark": "\ufeff" + in_list(),
    "not JSON": in_list()[:-5],
    "broken item": in_list().replace('"n7"', '"n7', 1),
    "broken line": "\n".join(json.dumps(each) for each in OBJECTS) + "\n{\n",
    "number": in_list([*OBJECTS, 7]),
    "without kind": in_list([*OBJECTS, {"apiVersion": "v1", "metadata": {"name": "x"}}]),
    "one object": json.dumps(node("n1")),
    "no items": in_list([]),
}


@pytest.fixture(params=[300, 2_000, 4 * 1024**2], autouse=True)
def part(request, tmp_path, monkeypatch):
    """Small parts, so that small files have several."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stored_objects, "PART", request.param)
    monkeypatch.setattr(file_texts, "_WINDOW", request.param)
    monkeypatch.setattr(cluster_input, "LARGEST_FILE", 100)
    return request.param


def stored(text):
    Path("cluster.json").write_text(text, encoding="utf-8")
    return stored_objects.read_objects(file_texts.OpenFile("cluster.json", "cluster.json"), lambda *_: None)


def contents(objects):
    kinds, problems = gather(objects)
    assert not problems
    return {kind: [each.content() for each in listed] for kind, listed in kinds.items()}


@pytest.mark.parametrize("form", FORMS)
def test_objects_are_those_of_the_file(form):
    found = stored(FORMS[form])
    want = [each for each in OBJECTS if form != "PodList" or each["kind"] == "Pod"]
    assert contents(found) == contents(want)


def test_file_with_an_object_larger_than_a_part_is_read_whole(part, monkeypatch):
    monkeypatch.setattr(stored_objects, "_LARGEST_PART", 400)
    large = {**pod("large"), "data": "x" * 2_000}
    found = [
        stored(json.dumps({"apiVersion": "v1", "kind": "List", "items": [large, pod("a"), large]})),
        stored(as_lines([large, pod("a")])),
    ]
    assert found == [None, None] or part > 400


@pytest.mark.parametrize("form", READ_WHOLE)
def test_other_files_are_read_whole(form):
    found = stored(READ_WHOLE[form])
    want = {"one object": [node("n1")], "no items": [], "objects one after the other": OBJECTS}
    assert found is None or contents(found) == contents(want[form])


# Text that is not JSON can be YAML up to another limit.
@pytest.mark.parametrize("form", [*FORMS, *(each for each in READ_WHOLE if each not in {"not JSON", "broken item"})])
def test_answer_is_that_of_a_small_file(form, monkeypatch):
    text = {**FORMS, **READ_WHOLE}[form]
    for name in ("cluster.json", "small.json"):
        Path(name).write_text(text, encoding="utf-8")
    Path("pending.json").write_text(json.dumps(pod("p3")), encoding="utf-8")
    runs = []
    for arguments in (["simulate", "pending.json"], ["fit", "pending.json", "--objects"], ["topology", "--objects"]):
        before = CliRunner().invoke(main, [*arguments, "cluster.json"])
        with monkeypatch.context() as patch:
            patch.setattr(cluster_input, "LARGEST_FILE", 64 * 1024**2)
            after = CliRunner().invoke(main, [*arguments, "small.json"])
        runs.append((before.exit_code, before.output) == (after.exit_code, after.output.replace("small.json", "cluster.json")))
    assert all(runs)


def test_texts_are_found_again_in_any_order():
    found = stored(FORMS["indented"])
    texts = [text for each in found or () for text in each.texts]
    assert [text.read() for text in reversed(texts)] == [text.read() for text in texts][::-1]


def test_some_objects_are_left_out():
    (kinds, _) = gather(stored(FORMS["spaces"]) or ())
    left = [*kinds["Pod"].given(lambda each: each.content()["metadata"]["name"] in {"p0", "p7", "p29"})]
    assert len(contents(left)["Pod"]) == 27
    assert kinds["Pod"][7].content()["metadata"]["name"] == "p7"


def test_all_texts_are_those_read_one_by_one():
    (kinds, _) = gather(stored(FORMS["indented"]))
    for listed in kinds.values():
        assert [each.text for each in in_memory(listed)] == [each.text for each in listed]


MORE = ["escaped", "long", "long-name-of-a-pod"]
ALL = [*(f"p{number}" for number in range(30)), *MORE]


@pytest.mark.parametrize(
    ("names", "want"),
    [
        ((), ()),
        (("p7",), ["p7", "escaped"]),
        (("p7", "p29", "n1"), ["p1", "p7", "p21", "p29", "escaped"]),
        (("long",), MORE),
        (("lo", "ong", "long-name-of"), ["escaped", "long-name-of-a-pod"]),
        (("", "p7"), ALL),
        ([f"p{number}" for number in range(1_000)], ALL),
    ],
)
def test_objects_with_a_name_are_found_in_their_texts(names, want):
    """Names of nodes are in the texts too; a text with an escaped character can have any name."""
    text = as_lines([*OBJECTS, *map(pod, MORE)]).replace('"escaped"', r'"\u0065scaped"')
    (kinds, _) = gather(stored(text))
    asked = []
    left = [*kinds["Pod"].given(lambda each: asked.append(each.content()["metadata"]["name"]) or asked[-1] in names, NameSearch(names))]
    assert sorted(asked) == sorted(want)
    assert [each["metadata"]["name"] for each in contents(left)["Pod"]] == [each for each in ALL if each not in names]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"example.com/team": "a"}', True),
        ('{"example.com/team-name": "a"}', True),
        (r'{"example.com\/team": "a"}', True),
        ('{"example.com/teams": "a"}', False),
        ('{"my.example.com/team": "a"}', False),
        ('{"example.org/team": "a"}', False),
        ('{"a": "team"}', False),
        ('{"a": "alone"}', True),
        ('{"a": "zalone"}', False),
    ],
)
@pytest.mark.parametrize("number", [0, 20])
def test_names_of_labels_are_found_with_their_prefix(text, found, number):
    """Few names without a slash are searched one by one, and many together."""
    names = ["example.com/team", "example.com/other", "example.net/team", "alone", *map(str, range(number))]
    assert bool(NameSearch(names).places(text.encode())) == found


@pytest.mark.parametrize("change", ["shorter", "longer", "same size"])
def test_changed_file_is_refused(change):
    Path("cluster.json").write_text(FORMS["spaces"], encoding="utf-8")
    inputs = cluster_input.read_cluster_input(["cluster.json"], (), Progress())
    (kept,) = inputs.stored
    size = len(FORMS["spaces"])
    os.truncate("cluster.json", {"shorter": 50, "longer": size + 10, "same size": size}[change])
    os.utime("cluster.json", ns=(1, 1))
    with pytest.raises(click.UsageError, match=r"cluster\.json was changed while it was read: run the command again"):
        kept.check()


def test_pipes_are_read_whole():
    os.mkfifo("pipe")
    assert file_texts.size("pipe") == 0
