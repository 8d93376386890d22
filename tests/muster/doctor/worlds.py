"""A whole installation as a world without findings, and changes to it."""

from __future__ import annotations

import base64
import copy
import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from certs import issue
from certs.pair import Authority, Pair, names_of
from muster.doctor.latencies import Latency
from muster.doctor.rights import needed
from muster.doctor.world import ApiServer, Item, Replica, World
from validators.gates import NEEDS

DEPLOY = Path(__file__).parents[3] / "deploy"
FILES = tuple(f"base/{each}" for each in ("namespace", "rbac", "deployment", "service", "webhooks", "network-policy"))
FILES += ("sidecar/rbac", "sidecar/deployment")
NOW = dt.datetime(2026, 7, 1, tzinfo=dt.UTC)
NAMESPACE, SERVER = "muster-system", "muster-webhook"
HOST, TARGET = f"{SERVER}.{NAMESPACE}.svc", f"{NAMESPACE}/{SERVER}"
GATES = dict.fromkeys(NEEDS, True)
SCHEDULING = "scheduling.k8s.io"
RESOURCES = frozenset(
    f"{SCHEDULING}/{each}" for each in ("v1beta1/workloads", "v1beta1/podgroups", "v1alpha3/compositepodgroups", "v1/priorityclasses")
)

Content = dict[str, Any]
Objects = dict[tuple[str, str], Content]
"""Objects by kind and name."""
Change = Callable[[Objects], None]


def authority(days: int = 3650, at: dt.datetime = NOW) -> Authority:
    return issue.authority(at, days)


def pair(ca: Authority, *names: str, days: int = 365, at: dt.datetime = NOW) -> Pair:
    return issue.leaf(ca, names_of(names or (HOST,)), at, days)


CA = authority()
PAIR = pair(CA)


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def scheduler(version: str = "v1.37.1", gates: str = ",".join(f"{name}=true" for name in NEEDS)) -> Content:
    return control_plane("kube-scheduler", version, f"--feature-gates={gates}")


def control_plane(program: str, version: str, *flags: str) -> Content:
    container = {"name": program, "image": f"registry.k8s.io/{program}:{version}", "command": [program, *flags]}
    metadata = {"name": f"{program}-node", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@functools.cache
def shipped() -> tuple[Content, ...]:
    return tuple(each for file in FILES for each in yaml.safe_load_all((DEPLOY / f"{file}.yaml").read_text(encoding="utf-8")) if each)


def objects(of: Pair = PAIR) -> Objects:
    """Return the shipped manifests with the caBundle and the Secret of a key pair, and kube-scheduler."""
    listed = [*shipped()]
    listed.append(scheduler())
    data = {"ca.crt": encoded(of.ca), "tls.crt": encoded(of.certificate)}
    metadata = {"name": "muster-webhook-tls", "namespace": NAMESPACE}
    listed.append({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    result = {(each["kind"], each["metadata"]["name"]): copy.deepcopy(each) for each in listed}
    trust(of.ca)(result)
    result["Deployment", SERVER]["status"] = {"readyReplicas": 3}
    return result


def trust(ca: bytes) -> Change:
    """Set the caBundle of every webhook."""
    return in_webhooks(lambda each: each["clientConfig"].update(caBundle=encoded(ca)))


def in_webhooks(change: Callable[[Content], None], number: int | None = None) -> Change:
    """Change every webhook of both configurations, or only the *number*-th."""

    def changed(result: Objects) -> None:
        for (kind, _), each in result.items():
            if kind.endswith("WebhookConfiguration"):
                for index, webhook in enumerate(each["webhooks"]):
                    if number in (None, index):
                        change(webhook)

    return changed


def in_container(deployment: str, change: Callable[[Content], None]) -> Change:
    return lambda result: change(result["Deployment", deployment]["spec"]["template"]["spec"]["containers"][0])


def with_argument(deployment: str, argument: str) -> Change:
    """Replace the argument of the same option, or add it."""

    def change(container: Content) -> None:
        name = argument.partition("=")[0]
        container["args"] = [*(each for each in container["args"] if each.partition("=")[0] != name), argument]

    return in_container(deployment, change)


def world(*changes: Change, live: bool = True, **facts: Any) -> World:
    """Return the installation after *changes*, with *facts* of ``World``; ``granted`` is complete unless it is given."""
    result = objects()
    for change in changes:
        change(result)
    items = tuple(Item(each, "" if live else f"all.yaml:{number}") for number, each in enumerate(result.values(), 1))
    if not live:
        return World(now=NOW, items=items, **facts)
    observed: dict[str, Any] = {
        "api_server": ApiServer(37, RESOURCES, GATES),
        "replicas": (Replica(TARGET, "10.0.0.1:9443", PAIR.certificate, distrust={PAIR.ca: ""}),),
        "latencies": tuple(Latency("pod a", path, 1000, 0.02) for path in ("/validate", "/mutate")),
    }
    complete = World(now=NOW, items=items, live=True, **{**observed, **facts})
    if "granted" in facts:
        return complete
    accounts: dict[tuple[str, str], Mapping[Any, bool]] = {
        each.account: dict.fromkeys(permissions, True) for each, permissions in needed(complete)
    }
    return dataclasses.replace(complete, granted=accounts)
