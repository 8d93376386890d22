"""Placement plugins of other packages in the sidecar: they have their say, and one that fails costs its root only."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
from scheduler_core.model.entity import Entity
from scheduler_core.model.nodes import Nodes, NodeTable, Rows
from scheduler_core.model.status import Status
from scheduler_core.placement.extension_points import Assigned, PluginFailedError, Plugins
from scheduler_core.sidecar.writes import Bind, SetCondition
from scheduler_core.wording.filter_words import failure_words
from tests.scheduler_core.builders import leaf, message_of, node, pod, pods
from tests.scheduler_core.sidecar.test_scheduler import MUSTER, Scene, gang, nodes_of, of, told


class NotOn:
    """A check against one node."""

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, entity: Entity, assigned: Assigned, nodes: NodeTable) -> str:
        return f"{self.name} is for others" if any(nodes.names[node] == self.name for _, node in assigned) else ""


class OneNodeEach:
    """A generator: each node is a placement."""

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> Mapping[str, Nodes] | None:
        return {nodes.names[each]: parent[parent == each] for each in parent.tolist()}


class Likes:
    """A scorer that likes placements with one node."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, entity: Entity, placement: Nodes, assigned: Assigned, nodes: NodeTable) -> int:
        return 100 if nodes.index[self.name] in placement else 0


class Fails:
    """A plugin of all three kinds that raises for groups of one name."""

    def __init__(self, name: str = "g") -> None:
        self.name = name

    def generate(self, entity: Entity, parent: Nodes, nodes: NodeTable) -> Mapping[str, Nodes] | None:
        return self._fail(entity)

    def score(self, entity: Entity, placement: Nodes, assigned: Assigned, nodes: NodeTable) -> int:
        return self._fail(entity) or 0

    def check(self, entity: Entity, assigned: Assigned, nodes: NodeTable) -> str:
        return self._fail(entity) or ""

    def _fail(self, entity: Entity) -> None:
        if entity.name.name == self.name:
            raise RuntimeError("no licence")


FAILED = f"failed: RuntimeError: no licence ({__file__}:{Fails._fail.__code__.co_firstlineno + 2})"


NODES = [node(name, "4", rack=name) for name in ("n1", "n2", "n3")]
OF_EACH_KIND = [
    pytest.param({"generators": (Fails(),)}, "generate", id="generator"),
    pytest.param({"generators": (OneNodeEach(),), "scorers": (Fails(),)}, "score", id="scorer"),
    pytest.param({"checks": (Fails(),)}, "check", id="check"),
]


@pytest.mark.parametrize(
    ("plugins", "want"),
    [
        pytest.param(Plugins(), {"n1"}, id="none"),
        pytest.param(Plugins(generators=(OneNodeEach(),), scorers=(Likes("n3"),)), {"n3"}, id="generator and scorer"),
        pytest.param(Plugins(generators=(OneNodeEach(),), checks=(NotOn("n1"),)), {"n2"}, id="check"),
    ],
)
@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_plugins_have_their_say(plugins, want, strategy):
    scene = Scene(*NODES, *gang("g", 2, key="rack"), plugins=plugins, strategy=strategy)

    assert want == {*nodes_of(scene.writes()).values()}


def test_a_refused_check_is_the_reported_reason():
    scene = Scene(node("n1", "4"), *gang("g", 2), plugins=Plugins(checks=(NotOn("n1"),)))
    writes = scene.writes()

    assert [] == of(Bind, writes)
    assert any("n1 is for others" in write.message for write in writes if hasattr(write, "message"))


def test_a_root_that_a_check_refused_is_tried_again_when_any_pod_moves():
    scene = Scene(node("n1", "4"), pod("other", on="n1", cpu="1"), *gang("g", 2), plugins=Plugins(checks=(NotOn("n1"),)))
    assert [] == of(Bind, scene.writes())
    scene.scheduler._parameters.plugins.checks[0].name = "elsewhere"
    scene.now += 60.0
    assert [] == of(Bind, scene.writes())
    scene.delete("Pod", "other")

    assert {"n1"} == {*nodes_of(scene.wait(0.0)).values()}


@pytest.mark.parametrize(("plugins", "method"), OF_EACH_KIND)
@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_a_plugin_that_fails_costs_its_root_only(plugins, method, strategy):
    others = [leaf("h", 2, "rack"), *pods("h", 2, **MUSTER)]
    scene = Scene(*NODES, *gang("g", 2, key="rack"), *others, plugins=Plugins(**plugins), strategy=strategy)
    writes = scene.writes()

    assert {"h-0", "h-1"} == {*nodes_of(writes)}
    assert ("g", "FailedScheduling") in told(writes)
    (condition,) = [write.condition for write in of(SetCondition, writes) if write.target.name == "g" and write.target.kind == "PodGroup"]
    assert "SchedulerError" == condition.reason
    assert f"placement plugin Fails.{method} {FAILED}" in condition.message


def test_a_root_whose_plugin_failed_is_tried_again():
    failing = Fails()
    scene = Scene(*NODES, *gang("g", 2), plugins=Plugins(checks=(failing,)))
    assert {} == nodes_of(scene.writes())
    failing.name = "mended"
    scene.put(node("n4", "4"))

    assert {"g-0", "g-1"} == {*nodes_of(scene.wait(600.0))}


@pytest.mark.parametrize(("plugins", "method"), OF_EACH_KIND)
@pytest.mark.parametrize("strategy", ["complete", "greedy"])
def test_a_cycle_reports_a_failing_plugin_and_continues(plugins, method, strategy):
    objects = [*NODES, leaf("g", 2, "rack"), *pods("g", 2), leaf("h", 2, "rack"), *pods("h", 2)]
    chosen = CycleOptions(plugins=Plugins(**plugins), strategy=strategy)
    alone = CycleOptions(plugins=Plugins(generators=(OneNodeEach(),)) if "scorers" in plugins else Plugins(), strategy=strategy)
    by_name = {each.root.name: each for each in run_cycle(load(objects), chosen).decisions}
    without = {
        each.root.name: each for each in run_cycle(load([each for each in objects if each["metadata"]["name"][0] != "g"]), alone).decisions
    }

    assert Status.ERROR is by_name["g"].status
    assert f"placement plugin Fails.{method} {FAILED}" == message_of(by_name["g"])
    assert {"default/g-0", "default/g-1"} == {*by_name["g"].pending}
    # What was tried before it failed is given back.
    assert without["h"].assignments == by_name["h"].assignments


def failure_of(check: object) -> PluginFailedError:
    """The exception that a call of *check* ends with."""
    with pytest.raises(PluginFailedError) as raised:
        Plugins(checks=(check,)).refusal(type("E", (), {"name": type("N", (), {"name": "x"})})(), (), None)  # type: ignore[arg-type]
    return raised.value


def test_an_exception_of_a_plugin_keeps_its_cause():
    failure = failure_of(Fails("x"))

    assert f"placement plugin Fails.check {FAILED}" == failure_words(failure.failure)
    assert isinstance(failure.__cause__, RuntimeError)


class AsksMuster:
    """A check that calls a function of ours, which raises."""

    def check(self, _entity: Entity, _assigned: Assigned, _nodes: NodeTable) -> str:
        return str(Rows()["cpu"])


class AsksALibrary:
    """A check that calls a library, which raises."""

    def check(self, _entity: Entity, _assigned: Assigned, _nodes: NodeTable) -> str:
        return str(json.loads("{"))


@pytest.mark.parametrize(
    ("plugin", "check", "words"),
    [
        pytest.param(AsksMuster(), AsksMuster.check, "AsksMuster.check failed: KeyError: ", id="Muster raised it"),
        pytest.param(AsksALibrary(), AsksALibrary.check, "AsksALibrary.check failed: JSONDecodeError: ", id="a library raised it"),
        pytest.param(
            types.SimpleNamespace(check=AsksMuster().check), AsksMuster.check, "SimpleNamespace.check failed: ", id="a class of nobody's"
        ),
    ],
)
def test_a_failure_names_the_line_of_the_plugin(plugin, check, words):
    message = failure_words(failure_of(plugin).failure)

    assert words in message
    assert message.endswith(f" ({__file__}:{check.__code__.co_firstlineno + 1})")


def test_a_plugin_without_the_method_has_no_line():
    assert "placement plugin Likes.check failed: AttributeError: 'Likes' object has no attribute 'check'" == failure_words(
        failure_of(Likes("n1")).failure
    )


@pytest.mark.parametrize(
    ("plugins", "words"),
    [
        pytest.param({"generators": lambda: ["n0"]}, "generate failed: TypeError: it returned list, not placements by name", id="a list"),
        pytest.param({"generators": lambda: {"a": "n0"}}, "generate failed: ValueError: ", id="names of nodes"),
        pytest.param({"scorers": lambda: "best"}, "score failed: TypeError: it returned str, not a number", id="a text for a score"),
        pytest.param({"scorers": lambda: float("nan")}, "score failed: ValueError: ", id="no number for a score"),
        pytest.param(
            {"checks": lambda: False}, "check failed: TypeError: it returned bool, not a reason in words", id="a verdict for a reason"
        ),
    ],
)
def test_a_plugin_that_returns_something_else_fails_too(plugins, words):
    ((kind, result),) = plugins.items()
    plugin = types.SimpleNamespace(**dict.fromkeys(("generate", "score", "check"), lambda *_: result()))
    objects = [*NODES, leaf("g", 2, "rack"), *pods("g", 2)]
    (decision,) = run_cycle(load(objects), CycleOptions(plugins=Plugins(**{kind: (plugin,)}), strategy="greedy")).decisions

    assert Status.ERROR is decision.status
    assert f"placement plugin SimpleNamespace.{words}" in message_of(decision)
