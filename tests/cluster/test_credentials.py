"""Credentials of a kubeconfig on a real API server: kubectl and Muster are the same user by the same file."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest

from apiserver.api import Api
from apiserver.connect import find_connection

PLUGIN = """
import json, os
version = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["apiVersion"]
print(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": json.load(open(__file__ + ".json"))}))
"""
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@pytest.mark.parametrize(
    "how", ["a certificate in the kubeconfig", "a certificate in files", "a certificate of a program", "somebody else"]
)
def test_kubectl_and_muster_are_the_same_user(plane, tmp_path, how):
    content = json.loads(plane.kubeconfig.read_text())
    user = content["users"][0]["user"]
    certificate, key = (base64.b64decode(user[f"client-{name}-data"]).decode() for name in ("certificate", "key"))
    if how == "a certificate in files":
        (tmp_path / "tls.crt").write_text(certificate)
        (tmp_path / "tls.key").write_text(key)
        content["users"][0]["user"] = {"client-certificate": "tls.crt", "client-key": "tls.key"}
    elif how == "a certificate of a program":
        (tmp_path / "plugin.py").write_text(PLUGIN)
        (tmp_path / "plugin.py.json").write_text(json.dumps({"clientCertificateData": certificate, "clientKeyData": key}))
        spec = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
        content["users"][0]["user"] = {"exec": {**spec, "command": sys.executable, "args": [str(tmp_path / "plugin.py")]}}
    elif how == "somebody else":
        extra = {"acme.com/project": ["x", "y"]}
        content["users"][0]["user"] = {**user, "as": "jane", "as-uid": "7", "as-groups": ["g", "h"], "as-user-extra": extra}
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps(content))
    raw = ["create", "--raw", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "-f", "-"]
    done = subprocess.run(
        [plane.programs.path("kubectl"), "--kubeconfig", kubeconfig, *raw],
        input=json.dumps(REVIEW),
        capture_output=True,
        text=True,
        check=True,
    )

    answer = Api(find_connection(str(kubeconfig))).send(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", json.dumps(REVIEW).encode()
    )
    ours, theirs = (json.loads(each)["status"]["userInfo"] for each in (answer, done.stdout))
    for each in (ours, theirs):  # the certificate's id is the same, that of the request is not
        each.get("extra", {}).pop("authentication.kubernetes.io/credential-id", None)
    assert theirs == ours
    assert how != "somebody else" or (ours["username"], ours["extra"]) == ("jane", {"acme.com/project": ["x", "y"]})
