"""Time to create a pod that joins its group, compared with a webhook that answers with a constant patch, on one API server.

Each webhook has a namespace.  Pods are created one after the other, in rounds that alternate between the webhooks, among groups whose
labels the server compares.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import itertools
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import load, measure
from benchmarks.cluster.rates import Testbed
from benchmarks.clusters import PADDING, Json
from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import until
from workloadbuilder.adapters.members import MEMBERS, written

LIMIT = 1.3
PODS_OF_A_ROUND = 50
JOINED, CONSTANT, WITHOUT = "joined", "constant", "without"
VARIANTS = {JOINED: "judging", CONSTANT: "patching"}
COLUMNS = ("groups", "pods of each", "with /join, ms", "constant patch", "without webhook", "with /join / constant patch", "limit")
LABEL = "batch.kubernetes.io/job-name"


def table(testbed: Testbed, groups: int, rounds: int) -> None:
    """Measure *rounds* rounds of each webhook, and print."""
    plane = testbed.plane
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        load.certificate(directory)
        watching = {"MUSTER_CLUSTER": "true", "MUSTER_KUBECONFIG": str(plane.kubeconfig)}
        for namespace, variant in VARIANTS.items():
            server = stack.enter_context(load.serving(variant, directory, more=watching if namespace == JOINED else load.EMPTY))
            stack.callback(plane.api.delete, "MutatingWebhookConfiguration", namespace)
            plane.api.create(_configuration(namespace, server))
        for namespace in (*VARIANTS, WITHOUT):
            plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        plane.api.create_all([_group(number) for number in range(groups)])
        until(lambda: all(_named(plane.api, namespace) for namespace in VARIANTS))
        numbers = itertools.count()
        runs = {each: functools.partial(_milliseconds, plane, each, groups, numbers) for each in (*VARIANTS, WITHOUT)}
        measured = measure.in_turns(runs, rounds)
    ratio = measured.ratio(JOINED, CONSTANT)
    figures = (f"{measured.median(each):.2f}" for each in (JOINED, CONSTANT, WITHOUT))
    row = [f"{groups:,}", f"{rounds * PODS_OF_A_ROUND:,}", *figures, f"{ratio:.2f}"]
    measure.table(
        "Creation of a pod that joins its group", COLUMNS, [[*row, f"{LIMIT:g}: {measure.verdict(ratio, LIMIT, at_least=False)}"]]
    )


def _milliseconds(plane: ControlPlane, namespace: str, groups: int, numbers: itertools.count[int]) -> float:
    """Return the median time to create a pod."""
    times = []
    for _ in range(PODS_OF_A_ROUND):
        number = next(numbers)
        content = _pod(f"p-{number:05d}", namespace, number % groups)
        started = time.perf_counter()
        plane.api.create(content)
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times)


def _named(api: Api, namespace: str) -> bool:
    """Return whether the webhook of a namespace names the group of a pod."""
    created = api.create(_pod("probe", namespace, 0), dryRun="All")
    return "scheduling.muster.dev/pod-group" in created["metadata"]["labels"]


def _pod(name: str, namespace: str, job: int) -> Json:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"job-{job}", "uid": f"u-{job}", "controller": True}
    annotations = {"example.com/padding": PADDING}
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {LABEL: f"job-{job}"},
        "annotations": annotations,
        "ownerReferences": [owner],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "main", "image": "train"}]}}


def _group(number: int) -> Json:
    annotations = {MEMBERS: written(({LABEL: f"job-{number}"},))}
    metadata = {"name": f"job-{number}", "namespace": JOINED, "annotations": annotations}
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": 1}}}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def _configuration(namespace: str, server: load.Server) -> Json:
    """Return the configuration of a webhook for one namespace; its conditions are left out, as both would have them."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return configuration("MutatingWebhookConfiguration", namespace, server, "/join", rule, reinvocationPolicy="IfNeeded")


def configuration(kind: str, namespace: str, server: load.Server, path: str, rule: Json, **more: str) -> Json:
    """Return the configuration of a webhook that is called by URL, for the objects of one namespace."""
    client = {"url": f"https://{load.HOST}:{server.port}{path}", "caBundle": base64.b64encode(server.ca.read_bytes()).decode()}
    webhook = {
        "name": "bench.muster.dev",
        "clientConfig": client,
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        **more,
    }
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": namespace}, "webhooks": [webhook]}
