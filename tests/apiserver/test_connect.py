"""Address and credentials of the API server, and the message if there are none."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from apiserver.connect import ConnectError, current_context, find_connection, service_account
from certs.issue import authority

NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def token(text):
    return (("Authorization", f"Bearer {text}"),)


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
    monkeypatch.setattr("apiserver.connect.DEFAULT", str(tmp_path / "none"))


@pytest.fixture
def pod(monkeypatch, tmp_path):
    """Set the environment of a pod with a service account."""
    monkeypatch.setattr("apiserver.connect.SERVICE_ACCOUNT", tmp_path)
    (tmp_path / "token").write_text("token-of-the-pod\n")
    (tmp_path / "ca.crt").write_bytes(authority(NOW).certificate)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")


@pytest.mark.parametrize(
    ("context", "want"), [pytest.param(None, "https://a", id="the current"), pytest.param("b", "https://b", id="named")]
)
def test_a_kubeconfig_says_where_by_its_context(tmp_path, context, want):
    result = find_connection(kubeconfig(tmp_path / "config", "a", "b"), context)

    assert (want, token("t")) == (result.host, result.credentials.identity().headers)


def test_a_pod_is_who_its_service_account_is(pod):
    result = find_connection()

    assert ("https://10.0.0.1:443", token("token-of-the-pod")) == (result.host, result.credentials.identity().headers)


def test_the_address_of_a_pod_may_be_that_of_ipv6(pod, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert "https://[fd00::1]:443" == find_connection().host


def test_a_token_that_was_renewed_is_read(pod, tmp_path):
    credentials = find_connection().credentials
    (tmp_path / "token").write_text("renewed")
    assert token("renewed") == credentials.identity().headers


@pytest.mark.parametrize("damage", ["empty", "gone", "no text"])
def test_a_token_that_is_being_written_does_not_replace_the_last_one(pod, tmp_path, damage):
    credentials = find_connection().credentials
    (tmp_path / "token").unlink()
    if damage != "gone":
        (tmp_path / "token").write_bytes(b"" if damage == "empty" else b"\xff")
    assert token("token-of-the-pod") == credentials.identity().headers


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_a_service_account_without_a_file_is_none(pod, tmp_path, name):
    (tmp_path / name).unlink()
    with pytest.raises(ConnectError, match=f"the service account of this pod cannot be used: .*{name}: No such file"):
        find_connection()


def test_an_empty_variable_names_no_kubeconfig(pod, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "")
    assert "https://10.0.0.1:443" == find_connection().host


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_kubeconfig_that_is_given_counts_in_a_pod_too(pod, monkeypatch, tmp_path, how):
    path = kubeconfig(tmp_path / "config", "a")
    monkeypatch.setenv("KUBECONFIG", path if how == "environment" else "")
    monkeypatch.setattr("apiserver.connect.DEFAULT", path)

    assert "https://a" == find_connection(path if how == "argument" else None).host


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
        find_connection(str(path))

    assert 1 == len(str(raised.value).splitlines())
    assert 0 < len(str(raised.value)) <= 300


def test_who_is_no_pod_has_no_service_account():
    with pytest.raises(ConnectError, match=r"(?i)service|cluster"):
        service_account()


def test_a_kubeconfig_that_does_not_exist_is_named(tmp_path, monkeypatch):
    with pytest.raises(ConnectError, match=rf"there is no file {tmp_path / 'a'}$"):
        find_connection(str(tmp_path / "a"))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    with pytest.raises(ConnectError, match=r"there is no file .*a:.*b$"):
        find_connection()
    kubeconfig(tmp_path / "b", "host")
    find_connection(f"{tmp_path / 'a'}:{tmp_path / 'b'}")


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
