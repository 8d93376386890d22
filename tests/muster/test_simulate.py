"""``muster simulate``: options in, report and exit status out."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from muster import cli, standard_output
from muster.commands.progress import Progress
from muster.commands.simulate import command
from muster.commands.simulate.request import SimulationRequest, with_options
from muster.commands.simulate.simulation_options import BY_NAME
from tests.muster.simulated import gang, node, pod

NODES = [node("n1", cpu="2"), node("n2", cpu="2"), node("gpu-1", cpu="0")]
FITS = [gang("g", 2), pod("g-0", group="g"), pod("g-1", group="g")]
TOO_LARGE = [gang("big", 5), *(pod(f"big-{number}", group="big") for number in range(5))]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, objects in {"nodes": NODES, "fits": FITS, "large": TOO_LARGE, "broken": [{"apiVersion": "v1", "kind": "Pod"}]}.items():
        (tmp_path / f"{name}.json").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    return tmp_path


def muster(*arguments, stdin=""):
    return CliRunner().invoke(cli.main, ["simulate", *arguments], input=stdin)


def answered(*arguments):
    return json.loads(muster(*arguments, "--format", "json").stdout)


@pytest.mark.parametrize(
    ("paths", "want"),
    [
        pytest.param(["nodes.json", "fits.json"], 0, id="all is placed"),
        pytest.param(["nodes.json", "fits.json", "large.json"], 1, id="something is not"),
        pytest.param(["broken.json"], 2, id="nothing can be decided"),
        pytest.param(["nodes.json", "fits.json", "broken.json"], 2, id="all that could be read is placed, a pod was skipped"),
        pytest.param(["nodes.json"], 0, id="nothing to place"),
    ],
)
def test_exit_status(paths, want):
    answer = muster(*paths)
    assert (want, "") == (answer.exit_code, answer.stderr)


def test_text_is_the_usual_format():
    assert muster("nodes.json", "fits.json").stdout.splitlines()[-1] == "1 of 1 root placed: 2 pods placed"


def test_standard_input():
    answer = muster("-", "--format", "json", stdin="\n".join(map(json.dumps, [*NODES, *FITS])))
    assert json.loads(answer.stdout)["summary"] == {"roots": 1, "placed": 1, "pods": 2}


def test_further_objects_are_part_of_the_cluster():
    assert answered("fits.json", "--objects", "nodes.json")["summary"]["placed"] == 1


@pytest.mark.parametrize(
    ("mine", "others", "want"),
    [
        pytest.param(FITS, TOO_LARGE, (0, {"roots": 1, "placed": 1, "pending": 0}), id="mine fits, theirs does not"),
        pytest.param(TOO_LARGE, FITS, (1, {"roots": 1, "placed": 0, "pending": 5}), id="theirs fits, mine does not"),
        pytest.param(FITS[:1], FITS[1:], (0, {"roots": 1, "placed": 1, "pending": 0}), id="a group whose pods are there"),
        pytest.param(TOO_LARGE[1:2], [TOO_LARGE[0], *TOO_LARGE[2:]], (1, {"roots": 1, "placed": 0, "pending": 5}), id="one of its pods"),
        pytest.param([pod("own", group="none")], FITS, (1, {"roots": 0, "placed": 0, "pending": 1}), id="a group that is not there"),
        pytest.param([pod("own", cpu="x")], FITS, (2, {"roots": 0, "placed": 0, "pending": 0}), id="mine cannot be read"),
        pytest.param([pod("own", on="n1")], TOO_LARGE, (0, {"roots": 0, "placed": 0, "pending": 0}), id="mine runs"),
        pytest.param([node("n3", cpu="0")], TOO_LARGE, (1, None), id="nothing of mine waits for a node"),
    ],
)
def test_exit_status_counts_the_paths_where_objects_are_the_rest_of_the_cluster(folder, mine, others, want):
    for name, objects in {"mine": mine, "others": [*NODES, *others]}.items():
        (folder / f"{name}.json").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    answer = muster("mine.json", "--objects", "others.json", "--format", "json")

    assert want == (answer.exit_code, json.loads(answer.stdout)["summary"].get("own"))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(json.dumps(node("n3", cpu="x")), id="a node"),
        pytest.param(json.dumps(pod("other", cpu="x", on="n1")), id="a pod"),
        pytest.param(json.dumps({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": 5}), id="a volume"),
        pytest.param('{"kind": ', id="a file"),
    ],
)
def test_a_cluster_that_is_read_in_part_is_no_success(folder, broken):
    (folder / "part.json").write_text(broken, encoding="utf-8")
    answer = muster("fits.json", "--objects", "nodes.json", "--objects", "part.json", "--format", "json")
    content = json.loads(answer.stdout)

    assert (2, 1) == (answer.exit_code, content["summary"]["placed"])
    assert len(content["problems"]) == 1
    assert muster("nodes.json", "fits.json", "part.json").exit_code == 2


def test_summary_says_what_counts(folder):
    (folder / "others.json").write_text("\n".join(map(json.dumps, [*NODES, *TOO_LARGE])), encoding="utf-8")
    told = muster("fits.json", "--objects", "others.json").stdout.splitlines()[-1]
    assert "1 of 2 roots placed: 2 pods placed, 5 pending; of PATH, 1 of 1 root placed, 0 pending" == told


def test_a_broken_file_of_mine_is_no_fit(folder):
    (folder / "mine.yaml").write_text("kind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: []\n")
    assert muster("mine.yaml", "--objects", "nodes.json", "--objects", "fits.json").exit_code == 2


def test_order_of_the_inputs_does_not_matter():
    one = muster("nodes.json", "fits.json", "large.json", "--format", "json").stdout
    assert one == muster("large.json", "fits.json", "nodes.json", "--format", "json").stdout


def test_drain_and_add_nodes(folder):
    running = {"kind": "List", "apiVersion": "v1", "items": [pod("web", on="n1", cpu="2"), pod("cache", on="n2", cpu="2")]}
    (folder / "running.json").write_text(json.dumps(running), encoding="utf-8")

    assert answered("nodes.json", "running.json")["decisions"] == []
    drained = answered("nodes.json", "running.json", "--drain", "n1")
    assert [each["pod"] for each in drained["pending"]] == ["default/web"]
    replaced = answered("nodes.json", "running.json", "--drain", "n1", "--add-nodes", "1 like n1")
    assert replaced["decisions"][0]["assignments"] == {"default/web": "n1-added-1"}


def test_nodes_are_drained_by_label_and_added_like_another(folder):
    running = [node("n3", rack="r3"), node("n4", rack="r3"), pod("web", on="n3", cpu="4"), pod("cache", on="n4", cpu="4")]
    (folder / "running.json").write_text("\n".join(map(json.dumps, running)), encoding="utf-8")

    drained = answered("nodes.json", "running.json", "--drain", "rack=r3")
    assert [each["pod"] for each in drained["pending"]] == ["default/cache", "default/web"]
    replaced = answered("nodes.json", "running.json", "--drain", "rack=r3", "--add-nodes", "2", "--like", "n3,rack=r4")
    assert replaced["summary"] == {"roots": 2, "placed": 2, "pods": 2}


def test_order_is_that_of_the_cycles():
    decisions = answered("nodes.json", "fits.json", "large.json", "--order", "g", "--order", "big")["decisions"]
    assert [each["root"]["name"] for each in decisions] == ["g", "big"]
    decisions = answered("nodes.json", "fits.json", "large.json", "--order", "big,g")["decisions"]
    assert [each["root"]["name"] for each in decisions] == ["big", "g"]


def test_timings_are_reported_on_request():
    assert answered("nodes.json", "fits.json", "--timings")["summary"]["seconds"] >= 0


def test_colours_are_for_terminals(monkeypatch):
    assert "\x1b" not in muster("nodes.json", "fits.json").stdout
    monkeypatch.setattr(standard_output, "is_colourful", lambda: True)
    assert "\x1b[32m✓" in muster("nodes.json", "fits.json").stdout
    assert "\x1b" not in muster("nodes.json", "fits.json", "--no-color").stdout
    assert "\x1b" not in muster("nodes.json", "fits.json", "--format", "json").stdout


def test_verbose_names_every_pod():
    assert "g-0 → n" in muster("nodes.json", "fits.json", "-v").stdout


def test_a_folder_without_manifests_is_said_to_be_empty(folder):
    (folder / "empty").mkdir()
    answer = muster("empty")

    assert (answer.exit_code, answer.stderr) == (2, "muster simulate: no .yaml, .yml, .json file in empty\n")


def test_inputs_without_a_node_are_reported():
    answer = muster("fits.json")
    assert (answer.exit_code, answer.stderr) == (
        1,
        "muster simulate: there is no Node among the inputs: give some with --nodes or --objects\n",
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "give at least one PATH", id="no path"),
        pytest.param(["nowhere"], "'nowhere' must be a file or a directory that exists", id="no such path"),
        pytest.param([".", "--objects", "nowhere"], "'nowhere'", id="no such objects"),
        pytest.param([".", "--strategy", "best"], "'best' is not one of", id="strategy"),
        pytest.param([".", "--drain", "gpu-2"], "there is no node 'gpu-2' among the inputs; did you mean gpu-1?", id="unknown node"),
        pytest.param([".", "--add-nodes", "2 like"], "must be 'N like NODE", id="no addition"),
        pytest.param([".", "--add-nodes", "2"], "each number needs a node to copy", id="like what"),
        pytest.param([".", "--drain", "rack=r1"], "there is no node with a label 'rack' among the inputs", id="unknown label"),
        pytest.param([".", "--add-nodes", "2 like m"], "there is no node 'm'", id="like nothing"),
        pytest.param([".", "--order", "nobody"], "nobody", id="unknown root"),
        pytest.param([".", "--ignore", "spec.volumes"], "spec.volumes", id="unknown field"),
        pytest.param([".", "--gates", "Nothing=true"], "there is no feature gate 'Nothing'", id="unknown gate"),
        pytest.param([".", "--percentage-of-placements", "101"], "101", id="out of range"),
        pytest.param([".", "--format", "pdf"], "'pdf' is not one of", id="unknown format"),
        pytest.param(["--batch", "-", "-v"], "answers are JSON", id="batch for people"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments, told):
    answer = muster(*arguments)

    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert told in answer.stderr


def test_every_option_of_a_question_is_one_of_the_command_line():
    parameters = {each.name: each for each in command.simulate.params}
    assert BY_NAME.keys() - parameters.keys() == set()
    for name, option in BY_NAME.items():
        assert ([option.flag], option.help) == (parameters[name].opts, parameters[name].help.partition("  [default")[0])


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param([], {}, id="none"),
        pytest.param(["--percentage-of-placements", "0"], {"percentageOfPlacements": 0}, id="0 is a choice"),
        pytest.param(["--evict"], {"evict": True}, id="switches"),
        pytest.param(["--order", "a,b", "--order", "c"], {"order": ["a", "b", "c"]}, id="names"),
        pytest.param(
            ["--add-nodes", "1 like a,b=c", "--add-nodes", "2 like d"], {"addNodes": ["1 like a,b=c", "2 like d"]}, id="additions"
        ),
        pytest.param(["--add-nodes", "3", "--like", "n,a=b"], {"addNodes": 3, "like": "n,a=b"}, id="number and node"),
        pytest.param(["--rank-order", "off"], {"rankOrder": "off"}, id="rank order"),
        pytest.param(["--gates", "CompositePodGroup=false"], {"gates": {"CompositePodGroup": False}}, id="gates"),
        pytest.param(["--ignore", "spec.volumes.rbd"], {"ignore": ["spec.volumes.rbd"]}, id="fields"),
        pytest.param(["--device-topology", "a.b/c,d.e/f"], {"deviceTopology": ["a.b/c", "d.e/f"]}, id="attributes"),
    ],
)
def test_options_of_the_command_line_are_those_of_a_question(arguments, want):
    parameters = command.simulate.make_context("simulate", ["x", *arguments]).params
    request = command.request_of({name: value for name, value in parameters.items() if name in BY_NAME})

    assert with_options(SimulationRequest(), {"strategy": "complete", **want}) == request


def test_progress_is_shown_on_a_terminal_only(monkeypatch, capsys):
    silent = Progress()
    silent.show("reading")
    silent.roots(1, 2)
    silent.end()
    assert capsys.readouterr().err == ""

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("muster.commands.progress._FIRST_SECONDS", 0.0)
    telling = Progress()
    telling.roots(1, 2)
    telling.end()
    line = f"muster simulate: 1 of 2 roots decided  [{'#' * 15}{'-' * 15}]   50%"
    assert capsys.readouterr().err == f"\r{line}\r{' ' * len(line)}\r"


def test_imports_nothing_of_the_server():
    heavy = {"flask", "werkzeug", "kubernetes", "cryptography", "gunicorn", "prometheus_client", "rich", "logging", "webhooks", "certs"}
    code = "import sys; from muster.cli import main\ntry: main()\nfinally: print(*{each.partition('.')[0] for each in sys.modules}, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code, "simulate", "nodes.json", "fits.json"], capture_output=True, text=True, check=False)

    assert "scheduler_core" in ran.stderr.split()
    assert heavy & set(ran.stderr.split()) == set()
