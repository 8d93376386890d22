"""The sidecar's log on a real cluster: JSON lines only, also for warnings of libraries."""

from __future__ import annotations

import json

from tests.cluster.sidecars import kubeconfig, sidecar


def test_a_library_warns_once_and_as_json(plane, tmp_path):
    """urllib3 warns at each request to a server whose certificate is not verified."""
    config = json.loads(kubeconfig(plane).read_text(encoding="utf-8"))
    for each in config["clusters"]:
        del each["cluster"]["certificate-authority-data"]
        each["cluster"]["insecure-skip-tls-verify"] = True
    insecure = tmp_path / "insecure.kubeconfig"
    insecure.write_text(json.dumps(config), encoding="utf-8")
    with sidecar(plane, tmp_path, "--mode", "validate", "--lease", "none", through=insecure) as running:
        assert 0 == running.stop()
        lines = [json.loads(line) for line in running.log.read_text(encoding="utf-8").splitlines()]

    messages = [line["message"] for line in lines if line["event"] == "log"]
    assert 1 == len(messages)
    assert messages[0].startswith("InsecureRequestWarning: Unverified HTTPS request is being made to host '127.0.0.1'")
