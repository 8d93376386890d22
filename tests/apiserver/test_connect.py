"""Address and credentials of the API server, and the message if there are none."""

from __future__ import annotations

import json

import pytest
from kubernetes import config

from apiserver.connect import ConnectError, configuration, current_context, service_account


def kubeconfig(path, *hosts):
    """Return the path of a kubeconfig with a context for each host; the first is the current context."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": host, "cluster": {"server": f"https://{host}"}} for host in hosts],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": host, "context": {"cluster": host, "user": "u"}} for host in hosts],
        "current-context": hosts[0],
    }
    path.write_text(json.dumps(content))
    return str(path)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Remove the environment of a pod and the kubeconfig of a user."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))


@pytest.fixture
def pod(monkeypatch, tmp_path):
    """Set the environment of a pod with a service account."""
    for name, content in (("TOKEN", "token-of-the-pod"), ("CERT", "a certificate")):
        (tmp_path / name).write_text(content)
        monkeypatch.setattr(f"kubernetes.config.incluster_config.SERVICE_{name}_FILENAME", str(tmp_path / name))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")


@pytest.mark.parametrize(
    ("context", "want"), [pytest.param(None, "https://a", id="the current"), pytest.param("b", "https://b", id="named")]
)
def test_a_kubeconfig_says_where_by_its_context(tmp_path, context, want):
    result = configuration(kubeconfig(tmp_path / "config", "a", "b"), context)

    assert (want, False) == (result.host, result.retries)
    assert "Bearer t" == result.auth_settings()["BearerToken"]["value"]


def test_a_pod_is_who_its_service_account_is(pod):
    result = configuration()

    assert ("https://10.0.0.1:443", False) == (result.host, result.retries)
    assert "bearer token-of-the-pod" == result.auth_settings()["BearerToken"]["value"]


def test_a_token_that_was_renewed_is_read_whatever_the_time_of_day_is(pod, tmp_path):
    result = configuration()
    (tmp_path / "TOKEN").write_text("renewed")

    assert "bearer renewed" == result.auth_settings()["BearerToken"]["value"]


def test_a_token_that_is_being_written_is_none(pod, tmp_path):
    result = configuration()
    (tmp_path / "TOKEN").write_text("")

    with pytest.raises(config.ConfigException, match="empty"):
        result.auth_settings()


def test_an_empty_variable_names_no_kubeconfig(pod, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "")
    assert "https://10.0.0.1:443" == configuration().host


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_kubeconfig_that_is_given_counts_in_a_pod_too(pod, monkeypatch, tmp_path, how):
    path = kubeconfig(tmp_path / "config", "a")
    monkeypatch.setenv("KUBECONFIG", path if how == "environment" else "")
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", path)

    assert "https://a" == configuration(path if how == "argument" else None).host


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="not there"),
        pytest.param("just text", id="no mapping"),
        pytest.param("{}", id="empty"),
        pytest.param("a: [", id="no YAML"),
        pytest.param("\x00" * 50, id="no text"),
        pytest.param(
            '{"current-context": "x", "contexts": [{"name": "x", "context": 5}], "clusters": [], "users": []}', id="a context that is none"
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_one_line_that_says_why(tmp_path, content):
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConnectError) as raised:
        configuration(str(path))

    assert 1 == len(str(raised.value).splitlines())
    assert 0 < len(str(raised.value)) <= 300


def test_who_is_no_pod_has_no_service_account():
    with pytest.raises(ConnectError, match=r"(?i)service|cluster"):
        service_account()


def test_a_kubeconfig_that_does_not_exist_is_named(tmp_path, monkeypatch):
    with pytest.raises(ConnectError, match=rf"there is no file {tmp_path / 'a'}$"):
        configuration(str(tmp_path / "a"))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    with pytest.raises(ConnectError, match=r"there is no file .*a:.*b$"):
        configuration()
    kubeconfig(tmp_path / "b", "host")
    configuration(f"{tmp_path / 'a'}:{tmp_path / 'b'}")


def test_the_current_context_has_a_name(tmp_path, monkeypatch):
    file = kubeconfig(tmp_path / "config", "a", "b")
    assert "a" == current_context(file)
    monkeypatch.setenv("KUBECONFIG", file)
    assert "a" == current_context()


def test_a_pod_has_no_context(pod):
    assert "" == current_context()


def test_an_unusable_kubeconfig_has_no_context(tmp_path):
    (tmp_path / "config").write_text("[]")
    assert ["", ""] == [current_context(str(tmp_path / name)) for name in ("config", "nowhere")]
