from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from muster.commands.sidecar import sidecar

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "x",
}


@pytest.fixture
def started(monkeypatch):
    """The settings with which it would be run."""
    found = []

    def run(configuration, settings, bind, **_):
        found.append((configuration.host, settings, bind))

    monkeypatch.setattr("scheduler_core.sidecar.process.main.run", run)
    return found


@pytest.fixture
def kubeconfig(tmp_path):
    path = tmp_path / "config"
    path.write_text(json.dumps(KUBECONFIG))
    return str(path)


def invoke(*arguments, **environ):
    return CliRunner().invoke(sidecar, arguments, env=environ)


def test_what_it_does_by_default(started, kubeconfig):
    assert 0 == invoke("--kubeconfig", kubeconfig).exit_code
    ((host, settings, bind),) = started

    assert ("http://127.0.0.1:1", ("127.0.0.1", 8080)) == (host, bind)
    assert {"validate", "place", "preempt", "protect"} == set(settings.modes)
    assert ("muster", "complete", ("muster-system", "muster-sidecar")) == (settings.scheduler_name, settings.strategy, settings.lease)


def test_how_victims_leave_can_be_given_in_the_environment(started, kubeconfig):
    assert 2 == invoke("--kubeconfig", kubeconfig, MUSTER_EVICT="bogus").exit_code
    assert 0 == invoke("--kubeconfig", kubeconfig, MUSTER_EVICT="delete").exit_code

    assert "delete" == started[0][1].eviction_method.value


def test_an_option_can_be_given_in_the_environment(started, kubeconfig):
    invoke(
        MUSTER_KUBECONFIG=kubeconfig, MUSTER_SCHEDULER_NAME="mine", MUSTER_LEASE_NAMESPACE="here", MUSTER_IDENTITY="me", MUSTER_MODE="place"
    )
    settings = started[0][1]

    assert ("mine", ("here", "muster-sidecar"), "me") == (settings.scheduler_name, settings.lease, settings.identity)


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        pytest.param(("--device-topology", "a.b/c, d.e/f", "--device-topology", "g.h/i"), {}, id="options"),
        pytest.param((), {"MUSTER_DEVICE_TOPOLOGY": "a.b/c,d.e/f g.h/i"}, id="environment"),
    ],
)
def test_attributes_of_devices_that_are_topology_keys(started, kubeconfig, arguments, environ):
    assert 0 == invoke("--kubeconfig", kubeconfig, *arguments, **environ).exit_code
    assert 0 == invoke("--kubeconfig", kubeconfig, MUSTER_DEVICE_TOPOLOGY="").exit_code
    assert [("a.b/c", "d.e/f", "g.h/i"), ()] == [settings.device_topology for _, settings, _ in started]


@pytest.mark.parametrize(
    ("text", "want"), [pytest.param("none", None, id="none"), pytest.param("a/b", ("a", "b"), id="namespace and name")]
)
def test_the_lease_can_be_another_or_none(started, kubeconfig, text, want):
    invoke("--kubeconfig", kubeconfig, "--lease", text)

    assert want == started[0][1].lease


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(("--mode", "plase"), "did you mean place", id="a mode that is none"),
        pytest.param(("--mode", ","), "at least one of", id="no mode"),
        pytest.param(("--mode", "preempt"), "needs place or ungate", id="room for nothing"),
        pytest.param(("--lease", "a"), "NAMESPACE/NAME or none", id="half a lease"),
        pytest.param(("--lease", "Bad_NS/x"), "'--lease': 'Bad_NS/x': namespace: ", id="a lease in no namespace"),
        pytest.param(("--lease", "a/X"), "'--lease': 'a/X': name: ", id="a lease without a name that may be"),
        pytest.param(("--lease", "a/b/c"), "NAMESPACE/NAME or none", id="more than a lease"),
        pytest.param(("--probe-bind", "8080"), "HOST:PORT", id="a port alone"),
        pytest.param(("--probe-bind", "a:99999"), "HOST:PORT", id="no port"),
        pytest.param(("--gates", "CompositePodGroup=maybe"), "CompositePodGroup", id="no value of a gate"),
        pytest.param(("--device-topology", "clique"), "'clique' must be an attribute with its domain", id="an attribute without domain"),
        pytest.param(("--device-topology", "a.b/c,"), "'' must be an attribute with its domain", id="no attribute"),
        pytest.param(("--deviations", "delete"), "'--deviations': 'delete' is not one of 'report', 'undo'", id="no treatment"),
        pytest.param(("--deviations", "undo"), "--deviations undo needs --mode ungate", id="nothing to undo"),
        pytest.param(("--deviation-after", "0"), "'--deviation-after': 0.0 is not in the range", id="no time to bind"),
        pytest.param(("--settle", "-1"), "--settle", id="less than no time"),
        pytest.param(("--settle", "nan"), "'--settle': must be", id="no time at all"),
        pytest.param(("--silence", "nan"), "'--silence': must be", id="no silence at all"),
        pytest.param(("--scheduler-name", ""), "'--scheduler-name': must not be empty", id="the pods of nobody"),
    ],
)
def test_a_mistake_is_reported_and_nothing_is_started(started, kubeconfig, arguments, told):
    result = invoke("--kubeconfig", kubeconfig, *arguments)

    assert 2 == result.exit_code
    assert told in result.output
    assert [] == started


def test_no_cluster_is_a_mistake(started, tmp_path):
    result = invoke("--kubeconfig", str(tmp_path / "nowhere"))

    assert 2 == result.exit_code
    assert f"there is no cluster to watch: there is no file {tmp_path / 'nowhere'}; give" in result.output


def test_an_address_that_is_taken_is_a_mistake(kubeconfig, monkeypatch):
    def run(*_, **__):
        raise OSError(98, "Address already in use")

    monkeypatch.setattr("scheduler_core.sidecar.process.main.run", run)
    result = invoke("--kubeconfig", kubeconfig)

    assert 2 == result.exit_code
    assert "--probe-bind 127.0.0.1:8080: Address already in use" in result.output
