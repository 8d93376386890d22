"""Kubeconfigs, merged as kubectl merges them; credentials, with real programs, files and TLS."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.api import Api, ReplyError
from apiserver.connect import ConnectError, find_connection
from apiserver.connection import Connection
from apiserver.credentials import CredentialsError
from apiserver.kubeconfig import KubeconfigError, read
from certs.issue import authority, leaf
from certs.pair import Names
from tests.apiserver.fake import serving
from tests.cluster import programs
from tests.cluster.conftest import available
from tests.sampling import sampled

SECRET = "a-secret-token"


def named(kind, **entries):
    return [{"name": name, kind: value} for name, value in entries.items()]


def document(user=None, cluster=None, **more):
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": named("context", c={"cluster": "c", "user": "u"}),
        "clusters": named("cluster", c={"server": "https://host", **(cluster or {})}),
        "users": named("user", u=user or {}),
    }
    return {**content, **more}


def written(path, content):
    path.write_text(yaml.safe_dump(content))
    return str(path)


def identity(tmp_path, user, **cluster):
    return read(written(tmp_path / "config", document(user, cluster))).connection().credentials.identity()


NAMES = st.sampled_from(["a", "b", "c"])
AUTHORITIES = st.sampled_from(["", "ca.crt", "../ca.crt", "/etc/ca.crt"])
FILES = st.fixed_dictionaries(
    {},
    optional={
        "current-context": NAMES,
        "contexts": st.dictionaries(NAMES, st.fixed_dictionaries({"cluster": NAMES, "user": NAMES}, optional={"namespace": NAMES})),
        "clusters": st.dictionaries(NAMES, st.fixed_dictionaries({"server": st.sampled_from(["https://x", "https://y"])})),
        "users": st.dictionaries(NAMES, st.fixed_dictionaries({"token": st.sampled_from(["t", "u"])})),
    },
)


@settings(max_examples=sampled(100), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(files=st.lists(FILES, min_size=1, max_size=3))
def test_files_are_merged_as_by_kubectl(tmp_path_factory, files):
    kubectl = available(programs.find).path("kubectl")
    folder = tmp_path_factory.mktemp("merged")
    paths = [str(folder / f"{number}" / "config") for number in range(len(files))]
    for path, content in zip(map(Path, paths), files, strict=True):
        path.parent.mkdir()
        lists = {kind: named(kind[:-1], **entries) for kind, entries in content.items() if kind != "current-context"}
        path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **content, **lists}))
    listed = os.pathsep.join(paths)
    shown = subprocess.run(
        [kubectl, "config", "view", "--raw", "-o", "json"], env={**os.environ, "KUBECONFIG": listed}, capture_output=True, check=True
    )
    want = json.loads(shown.stdout)

    merged = read(listed)
    contexts = {each["name"]: each["context"] for each in want["contexts"] or ()}
    servers = {each["name"]: each["cluster"]["server"] for each in want["clusters"] or ()}
    tokens = {each["name"]: each["user"].get("token") for each in want["users"] or ()}
    assert (want["current-context"], {*contexts}) == (merged.current_context, {*merged.contexts})
    for name, context in contexts.items():
        assert context.get("namespace", "") == merged.contexts[name].namespace
        if context["cluster"] in servers and context["user"] in tokens:
            connection = merged.connection(name)
            assert servers[context["cluster"]] == connection.host
            assert (("Authorization", f"Bearer {tokens[context['user']]}"),) == connection.credentials.identity().headers


@pytest.mark.parametrize(
    ("user", "want"),
    [
        pytest.param({}, {}, id="nobody"),
        pytest.param({"token": "t"}, {"Authorization": "Bearer t"}, id="a token"),
        pytest.param({"token": "t", "username": "n", "password": "p"}, {"Authorization": "Bearer t"}, id="a token before a name"),
        pytest.param({"username": "n", "password": "p"}, {"Authorization": "Basic bjpw"}, id="a name and a password"),
        pytest.param(
            {"auth-provider": {"name": "oidc", "config": {"id-token": "i", "refresh-token": "r"}}},
            {"Authorization": "Bearer i"},
            id="the token of a login",
        ),
        pytest.param(
            {"token": "t", "as": "jane", "as-groups": ["g"], "as-uid": "7"},
            {"Authorization": "Bearer t", "Impersonate-User": "jane", "Impersonate-Group": "g", "Impersonate-Uid": "7"},
            id="somebody else",
        ),
    ],
)
def test_who_calls(tmp_path, user, want):
    assert want == dict(identity(tmp_path, user).headers)


def test_a_file_with_a_token_is_relative_to_the_kubeconfig_and_counts_before_a_token(tmp_path):
    (tmp_path / "token").write_text("of the file\n")
    assert {"Authorization": "Bearer of the file"} == dict(identity(tmp_path, {"token": "t", "tokenFile": "token"}).headers)
    (tmp_path / "token").unlink()
    assert {"Authorization": "Bearer t"} == dict(identity(tmp_path, {"token": "t", "tokenFile": "token"}).headers)


def test_several_groups_are_several_headers(tmp_path):
    user = {"as": "jane", "as-groups": ["g", "h"], "as-user-extra": {"acme.com/project": ["x", "y"]}}
    with serving(lambda *_: (200, {}, {})) as (server, _):
        seen = []
        server.RequestHandlerClass.log_message = lambda handler, *_: seen.append(
            (handler.headers.get_all("Impersonate-Group"), handler.headers.get_all("Impersonate-Extra-acme.com%2Fproject"))
        )
        host = f"http://127.0.0.1:{server.server_address[1]}"
        Api(read(written(tmp_path / "config", document(user, {"server": host}))).connection()).read("/x")

    assert [(["g", "h"], ["x", "y"])] == seen


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(document(**{"current-context": "z"}), "there is no context 'z'; known are c", id="no such context"),
        pytest.param(document(**{"current-context": ""}), "there is no current context; known are c", id="no current context"),
        pytest.param(document(clusters=[]), "there is no cluster 'c'", id="no such cluster"),
        pytest.param(document(users=[]), "there is no user 'u'", id="no such user"),
        pytest.param(document(cluster={"server": ""}), "cluster c: server must be given", id="no server"),
        pytest.param(
            document(cluster={"server": 5}), "not a kubeconfig: Expected `str`, got `int` - at `$.clusters[0].cluster.server`", id="type"
        ),
        pytest.param(document({"client-key-data": "***"}), "user u: client-key-data must be base64", id="no base64"),
        pytest.param(document({"client-key-data": "eA=="}), "client-certificate and client-key must be given together", id="a key alone"),
        pytest.param(document({"auth-provider": {"name": "gcp"}}), "auth-provider gcp is not supported: use a credential plugin", id="gcp"),
        pytest.param(document({"as-groups": ["g"]}), "as-groups, as-uid and as-user-extra need as", id="groups of nobody"),
        pytest.param(document({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}), "exec.command must be given", id="no program"),
        pytest.param(
            document({"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
            "exec.apiVersion must be",
            id="alpha",
        ),
        pytest.param(
            document({"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "x"}}),
            "exec.interactiveMode must be Never, IfAvailable or Always, not 'x'",
            id="mode",
        ),
        pytest.param(
            document(users=[*named("user", u={}), *named("user", u={})]), "users has two entries with the name 'u'", id="two of one name"
        ),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, content, want):
    with pytest.raises(KubeconfigError) as raised:
        read(written(tmp_path / "config", content)).connection()
    assert want in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / "config"))


@pytest.mark.parametrize("text", [f"users: [{{name: u, user: {{token: {SECRET}", f"users:\n  token: {SECRET}: x\n", f"users: {SECRET}\n"])
def test_no_error_has_a_secret(tmp_path, text):
    (tmp_path / "config").write_text(text)
    with pytest.raises(KubeconfigError) as raised:
        read(str(tmp_path / "config"))
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(identity(tmp_path, {"token": SECRET}))


PLUGIN = """
import json, os, sys
print("a page to log in at", file=sys.stderr)
runs = os.path.getsize(__file__ + ".runs") if os.path.exists(__file__ + ".runs") else 0
open(__file__ + ".runs", "a").write("x")
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {STATUS}
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


def plugin(tmp_path, status, **more):
    """Return a user whose program prints the status, which is an expression of Python: *runs* and *info* are known in it."""
    (tmp_path / "plugin.py").write_text(PLUGIN.replace("{STATUS}", status))
    spec = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(tmp_path / "plugin.py")]}
    return {"exec": {**spec, "interactiveMode": "Never", **more}}


def test_a_program_is_run_once_until_its_credentials_expire_or_are_refused(tmp_path):
    later = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)).isoformat()
    user = plugin(tmp_path, f'{{"token": f"t{{runs}}", "expirationTimestamp": "{later}"}}')
    credentials = read(written(tmp_path / "config", document(user))).connection().credentials
    seen = [dict(credentials.identity().headers)["Authorization"] for _ in range(2)]
    credentials.refused()
    assert ["Bearer t0", "Bearer t0", "Bearer t1"] == [*seen, dict(credentials.identity().headers)["Authorization"]]

    expired = plugin(tmp_path, '{"token": f"t{runs}", "expirationTimestamp": "2020-01-01T00:00:00Z"}')
    credentials = read(written(tmp_path / "config", document(expired))).connection().credentials
    assert ["Bearer t2", "Bearer t3"] == [dict(credentials.identity().headers)["Authorization"] for _ in range(2)]


def test_a_401_runs_the_program_again_for_the_next_request(tmp_path):
    user = plugin(tmp_path, '{"token": f"t{runs}"}')
    with serving(lambda *_: (401, {}, {})) as (server, _):
        host = f"http://127.0.0.1:{server.server_address[1]}"
        api = Api(read(written(tmp_path / "config", document(user, {"server": host}))).connection())
        for _ in range(2):
            with pytest.raises(ReplyError):
                api.read("/x")
    assert ["Bearer t0", "Bearer t1"] == [headers["Authorization"] for _, _, headers, _ in server.requests]


def test_a_program_gets_its_variables_and_the_cluster(tmp_path):
    status = '{"token": json.dumps([os.environ["COLOR"], info["spec"]])}'
    user = plugin(tmp_path, status, env=[{"name": "COLOR", "value": "red"}], provideClusterInfo=True)
    header = dict(identity(tmp_path, user, **{"tls-server-name": "other"}).headers)["Authorization"]
    cluster = {"server": "https://host", "tls-server-name": "other"}
    assert ["red", {"interactive": False, "cluster": cluster}] == json.loads(header.removeprefix("Bearer "))


@pytest.mark.parametrize(
    ("status", "more", "want"),
    [
        pytest.param("{}", {}, "printed neither a token nor a certificate", id="nothing"),
        pytest.param('{"clientKeyData": "k"}', {}, "printed a certificate without a key, or a key without a certificate", id="a key alone"),
        pytest.param("sys.exit(3)", {}, "ended with exit status 3", id="failed"),
        pytest.param("print('{') or {}", {}, "did not print an ExecCredential in JSON", id="no JSON"),
        pytest.param("info.update(apiVersion='x') or {}", {}, "must print an ExecCredential of client.authentication", id="other version"),
        pytest.param("{}", {"interactiveMode": "Always"}, "needs a terminal", id="no terminal"),
        pytest.param(
            "{}", {"command": "nowhere-to-be-found", "installHint": "brew install it"}, "does not exist; brew install it", id="hint"
        ),
    ],
)
def test_a_program_that_gives_no_credentials_is_named_with_the_reason(tmp_path, status, more, want):
    with pytest.raises(CredentialsError, match=want) as raised:
        identity(tmp_path, plugin(tmp_path, status, **more))
    assert str(raised.value).startswith("the credential plugin ")


class _Peer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@pytest.fixture
def secure(tmp_path):
    """Yield the URL of a server, and its authority."""
    now = dt.datetime.now(dt.UTC)
    ca = authority(now)
    pair = leaf(ca, Names(("api.example",), ()), now)
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    (tmp_path / "ca.crt").write_bytes(ca.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Peer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}", ca
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_the_server_is_verified_by_its_authority_and_the_name_that_is_given(tmp_path, secure):
    url, ca = secure
    data = base64.b64encode(ca.certificate).decode()
    trusted = {"server": url, "certificate-authority-data": data, "tls-server-name": "api.example"}
    for cluster in (trusted, {**trusted, "certificate-authority-data": "", "certificate-authority": "ca.crt"}):
        assert b"{}" == Api(read(written(tmp_path / "config", document({}, cluster))).connection()).read("/")
    untrusted = {key: value for key, value in trusted.items() if key != "certificate-authority-data"}
    assert b"{}" == Api(
        read(written(tmp_path / "config", document({}, {**untrusted, "insecure-skip-tls-verify": True}))).connection()
    ).read("/")
    for cluster in (untrusted, {**trusted, "tls-server-name": ""}, {**trusted, "tls-server-name": "other.example"}):
        with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
            Api(read(written(tmp_path / "config", document({}, cluster))).connection()).read("/")


def test_a_proxy_of_the_environment_is_used_as_by_clients_in_go(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8, .internal,plain.example,only.example:8443")
    direct = ["localhost", "127.0.0.1:6443", "10.1.2.3:6443", "a.internal", "plain.example", "x.plain.example", "only.example:8443"]
    through = ["11.1.2.3", "internal", "other.example", "only.example:6443", "xplain.example"]
    assert {""} == {Connection(f"https://{host}").proxy_of_host() for host in direct}
    assert {"http://proxy:3128"} == {Connection(f"https://{host}").proxy_of_host() for host in through}
    assert "http://mine" == Connection("https://localhost", proxy="http://mine").proxy_of_host()


def test_a_proxy_of_the_environment_that_is_not_supported_is_no_answer(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://proxy")
    with pytest.raises(OSError, match="must have an address that begins with http:// or https://"):
        Api(Connection("https://host")).read("/x")


@pytest.mark.parametrize(
    ("user", "cluster", "want"),
    [
        pytest.param({}, {"certificate-authority-data": "eA=="}, "certificate-authority must have certificates in PEM", id="authority"),
        pytest.param({}, {"certificate-authority": "folder"}, "folder: not a regular file", id="a directory"),
        pytest.param(
            {"client-certificate-data": "eA==", "client-key-data": "eA=="}, {}, "must be a certificate and its key in PEM", id="certificate"
        ),
        pytest.param({"token": "a\r\nX-Other: b"}, {}, "the header Authorization cannot have", id="two headers in a token"),
        pytest.param({"token": "ü"}, {}, "the header Authorization cannot have", id="a token that is not ASCII"),
        pytest.param({"as": "a\nb"}, {}, "the header Impersonate-User cannot have", id="two headers in a name"),
    ],
)
def test_trust_and_credentials_that_cannot_be_used_are_told_in_the_words_of_the_file(tmp_path, user, cluster, want):
    (tmp_path / "folder").mkdir()
    file = written(tmp_path / "config", document(user, cluster))
    with pytest.raises(ConnectError, match=want) as raised:
        find_connection(file)
    assert 1 == len(str(raised.value).splitlines())


def test_an_authority_needs_no_extension_that_kubectl_does_not_demand():
    assert not Connection("https://host").tls(None).verify_flags & ssl.VERIFY_X509_STRICT
