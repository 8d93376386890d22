"""Command lines and kubeconfigs of the programs."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.cluster.resources import Manifest


def etcd(folder: Path, port: int, peers: int) -> list[str]:
    """etcd with its data in *folder*, of one member.  What it has not written to the disk a killed process does not lose."""
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        "--name=tests",
        f"--initial-cluster=tests={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver(folder: Path, etcd_port: int, port: int) -> list[str]:
    """kube-apiserver with certificates, keys and RBAC."""
    tokens, ca = folder / "tokens", folder / "ca.crt"
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        *_serving(folder, port),
        f"--client-ca-file={ca}",
        f"--token-auth-file={folder / 'users.csv'}",
        # For kube-scheduler and kube-controller-manager, which complain for as long as they do not find it.
        f"--requestheader-client-ca-file={ca}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={tokens}.pub",
        f"--service-account-signing-key-file={tokens}.key",
        "--service-cluster-ip-range=10.255.0.0/24",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
    ]


def client(folder: Path, port: int, kubeconfig: Path) -> list[str]:
    """Return the flags that kube-scheduler and kube-controller-manager share."""
    return [*_serving(folder, port), f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]


def _serving(folder: Path, port: int) -> list[str]:
    pair = [f"--tls-cert-file={folder / 'server.crt'}", f"--tls-private-key-file={folder / 'server.key'}"]
    return ["--bind-address=127.0.0.1", f"--secure-port={port}", *pair]


def by_certificate(certificate: bytes, key: bytes) -> dict[str, str]:
    """Credentials of a user in a kubeconfig."""
    return {"client-certificate-data": base64.b64encode(certificate).decode(), "client-key-data": base64.b64encode(key).decode()}


def kubeconfig(user: str, credentials: dict[str, str], url: str, ca: bytes) -> Manifest:
    """A kubeconfig of one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "plane",
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": user}}],
        "clusters": [{"name": "plane", "cluster": {"server": url, "certificate-authority-data": base64.b64encode(ca).decode()}}],
        "users": [{"name": user, "user": credentials}],
    }
