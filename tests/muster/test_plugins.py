"""Placement plugins: one that another package registers is found, and has its say."""

import importlib
import json
import sys

import pytest
from click.testing import CliRunner

from muster.commands import placement_plugins
from muster.commands.sidecar import sidecar
from muster.commands.simulate import request
from muster.commands.simulate.command import simulate
from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from tests.muster.test_sidecar import KUBECONFIG

NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"rack": rack, "power": feed}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    for name, rack, feed in (("n1", "r1", "a"), ("n2", "r1", "b"), ("n3", "r2", "a"), ("n4", "r2", "b"))
]
GANG = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "gang", "namespace": "default"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}},
}
PODS = [
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"gang-{number}", "namespace": "default"},
        "spec": {
            "schedulingGroup": {"podGroupName": "gang"},
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}],
        },
    }
    for number in range(2)
]
EXAMPLE = '''
import numpy as np

class OneFeed:
    """Only nodes on one power feed together."""

    def generate(self, entity, parent, nodes):
        column = nodes.column("power")
        return {value: parent[column.ids[parent] == number] for number, value in enumerate(column.values)}

class Last:
    def score(self, entity, placement, assigned, nodes):
        return 100 if nodes.names[int(placement[0])] == "n4" else 0

class NotOnN4:
    def check(self, entity, assigned, nodes):
        return "n4 is for others" if any(nodes.names[node] == "n4" for _, node in assigned) else ""

def broken():
    raise RuntimeError("no licence")
'''


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """A package beside ours that registers plugins, as an installer leaves it."""
    (tmp_path / "feeds_example.py").write_text(EXAMPLE)
    about = tmp_path / "feeds_example-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: feeds-example\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[muster.placement_generators]\none-feed = feeds_example:OneFeed\nbroken = feeds_example:broken\n"
        "[muster.placement_scorers]\nlast = feeds_example:Last\n[muster.feasibility_checks]\nnot-on-n4 = feeds_example:NotOnN4\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield
    sys.modules.pop("feeds_example", None)


def placed(*names: str) -> dict[str, str]:
    (decision,) = run_cycle(load([*NODES, GANG, *PODS]), CycleOptions(plugins=placement_plugins.load(names))).decisions
    return dict(decision.assignments)


def test_a_generator_is_intersected_with_the_topology():
    assert {"default/gang-0": "n1", "default/gang-1": "n2"} == placed()
    assert {"default/gang-0": "n1", "default/gang-1": "n1"} == placed("one-feed")


def test_a_scorer_is_added_to_the_scores():
    assert {"default/gang-0": "n4", "default/gang-1": "n4"} == placed("one-feed", "last")


def test_a_check_has_its_say():
    assert {"default/gang-0": "n1", "default/gang-1": "n1"} == placed("one-feed", "last", "not-on-n4")


def test_an_unknown_plugin_is_reported_with_similar_names():
    with pytest.raises(placement_plugins.PluginError, match=r"there is no placement plugin 'one-fed' installed; did you mean one-feed\?"):
        placement_plugins.load(["one-fed"])


def test_a_plugin_that_cannot_be_created_is_reported():
    with pytest.raises(placement_plugins.PluginError, match=r"'broken' .* cannot be loaded: no licence"):
        placement_plugins.load(["broken"])


@pytest.fixture
def settings_of(monkeypatch, tmp_path):
    """The settings with which a sidecar with these options would run."""
    config = tmp_path / "config"
    config.write_text(json.dumps(KUBECONFIG))

    def settings(*options, **environ):
        found = []
        monkeypatch.setattr("scheduler_core.sidecar.process.main.run", lambda _configuration, settings, _bind, **_: found.append(settings))
        result = CliRunner().invoke(sidecar, ["--kubeconfig", str(config), *options], env=environ)
        return result, found

    return settings


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        pytest.param(("--plugin", "not-on-n4,last"), {}, id="in one"),
        pytest.param(("--plugin", "not-on-n4", "--plugin", "last"), {}, id="in two"),
        pytest.param((), {"MUSTER_PLUGIN": "not-on-n4,last"}, id="in the environment"),
    ],
)
def test_the_sidecar_takes_plugins(settings_of, options, environ):
    result, (settings,) = settings_of(*options, **environ)

    assert 0 == result.exit_code
    kinds = [type(each).__name__ for each in (*settings.plugins.generators, *settings.plugins.scorers, *settings.plugins.checks)]
    assert ["Last", "NotOnN4"] == kinds


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        pytest.param(("--plugin", ",,"), {}, id="commas"),
        pytest.param(("--plugin", ""), {}, id="empty"),
        pytest.param(("--plugin", " , ", "--plugin", ","), {}, id="twice"),
        pytest.param((), {"MUSTER_PLUGIN": ",,"}, id="in the environment"),
    ],
)
def test_the_sidecar_does_not_begin_with_a_plugin_without_a_name(settings_of, options, environ):
    result, found = settings_of(*options, **environ)

    assert (2, []) == (result.exit_code, found)
    assert "Error: Invalid value for '--plugin': " in result.stderr
    assert "names no placement plugin: give the name of one that is installed" in " ".join(result.stderr.split())


def test_an_empty_variable_is_no_plugin(settings_of):
    result, (settings,) = settings_of(MUSTER_PLUGIN="")

    assert 0 == result.exit_code
    assert not settings.plugins


@pytest.mark.parametrize("value", [",,", "", " , "])
def test_simulate_with_a_plugin_without_a_name_is_a_mistake(value):
    result = CliRunner().invoke(simulate, ["--plugin", value, "cluster.yaml"])

    assert 2 == result.exit_code
    assert f"Error: Invalid value for '--plugin': {value!r} names no placement plugin: " in result.stderr


@pytest.mark.parametrize("value", [",,", [""], [" "]])
def test_a_line_of_a_batch_with_a_plugin_without_a_name_is_a_mistake(value):
    with pytest.raises(request.InvalidOptions, match=r"option plugin: .* names no placement plugin"):
        request.with_options(request.SimulationRequest(), {"plugin": value})


def test_an_empty_list_takes_plugins_back():
    before = request.with_options(request.SimulationRequest(), {"plugin": ["last"]})

    assert before.cycle.plugins
    assert not request.with_options(before, {"plugin": []}).cycle.plugins


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("one-fed", "--plugin: there is no placement plugin 'one-fed' installed; did you mean one-feed?", id="not there"),
        pytest.param("broken", "cannot be loaded: no licence", id="cannot be made"),
    ],
)
def test_the_sidecar_does_not_begin_without_a_plugin(settings_of, name, want):
    result, found = settings_of("--plugin", name)

    assert (2, []) == (result.exit_code, found)
    assert want in result.output
