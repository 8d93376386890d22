"""Corpora for ``bench_lint``: manifests that are the same in every run, and JSON Schemas of their kinds for the peer.

``mixed``: files with a Workload, a PodGroup, a Pod and a Deployment; about one document in twenty is broken.  ``scheduling``: the
same without the Deployment.  ``across``: pods and their groups in files far from each other.  ``largest``: Workloads with 4,680 templates.  ``one_file``: small documents in one file.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from benchmarks import workloads

VERSION = "scheduling.k8s.io/v1beta1"
SCHEMAS = {
    "Workload": "scheduling.v1beta1.Workload",
    "PodGroup": "scheduling.v1beta1.PodGroup",
    "Pod": "core.v1.Pod",
    "Deployment": "apps.v1.Deployment",
    "ConfigMap": "core.v1.ConfigMap",
}
BROKEN_OF_FILES = (488, 2500)
FAULTS = (
    ("Workload", "minCount: 2", "minCount: 0"),
    ("Workload", "minCount: 3", "minCount: three"),
    ("Workload", "controllerRef:", "controlerRef:"),
    ("Workload", "name: worker", "name: Worker_"),
    ("Workload", "name: evaluator", "name: launcher"),
    ("Workload", "gang:\n", "basic: {}\n          gang:\n"),
    ("PodGroup", "minCount: 2", "minCount: -2"),
    ("PodGroup", "templateName: worker", "templateName: workr"),
    ("PodGroup", "schedulingPolicy:", "schedulingPolicy: {}\n  schedulingPolicy:"),
    ("PodGroup", "workloadName: w", "workloadName: other-"),
    ("Pod", "podGroupName: g", "podGroupName: other-"),
    ("Pod", "schedulingGroup:", "schedulingGrup:"),
    ("PodGroup", f"apiVersion: {VERSION}", "apiVersion: scheduling.k8s.io/v1beta7"),
    ("PodGroup", "  name: g", "  name: G_"),
    ("Workload", f"apiVersion: {VERSION}\n", ""),
)
"""Kind, text and its replacement: one for each of fifteen faults."""
_GROUP = f"apiVersion: {VERSION}\nkind: PodGroup\nmetadata:\n  name: g-{{0:06}}\nspec:\n  schedulingPolicy:\n    gang:\n      minCount: 1\n"
_POD = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p-{0:06}\n  labels:\n    app.kubernetes.io/name: training-{0:06}\n"
    "spec:\n  schedulingGroup:\n    podGroupName: g-{0:06}\n  containers:\n  - name: main\n    image: registry.example/training:1\n"
)
_LABELS = {f"example.com/label-{number}": f"value-{number}" for number in range(6)}


def mixed(folder: Path, files: int, *, kinds: tuple[str, ...] = ("Workload", "PodGroup", "Pod", "Deployment")) -> int:
    """Write *files* files with a document of each kind; return the number of documents."""
    texts = {kind: _text(_EXAMPLES[kind]()) for kind in kinds}
    for number in range(files):
        chosen = dict(texts)
        broken, total = BROKEN_OF_FILES
        if (number + 1) * broken // total > number * broken // total:
            kind, old, new = FAULTS[number % len(FAULTS)]
            chosen[kind] = texts[kind].replace(old, new, 1)
        target = folder / f"team-{number % 50:02}"
        target.mkdir(parents=True, exist_ok=True)
        (target / f"job-{number:05}.yaml").write_text("---\n".join(chosen.values()).replace("0-0", f"{number:05}"), encoding="utf-8")
    return files * len(kinds)


def scheduling(folder: Path, files: int) -> int:
    """Write the files of ``mixed`` without documents of other kinds; return the number of documents."""
    return mixed(folder, files, kinds=("Workload", "PodGroup", "Pod"))


def across(folder: Path, files: int) -> int:
    """Write *files* files with 100 small PodGroups and as many with their Pods, which come later; return the number of documents."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        numbers = range(100 * number, 100 * number + 100)
        for name, text in (("groups", _GROUP), ("pods", _POD)):
            (folder / f"{name}-{number:05}.yaml").write_text("---\n".join(map(text.format, numbers)), encoding="utf-8")
    return 200 * files


def largest(folder: Path, files: int) -> int:
    """Write *files* Workloads of the largest valid size, one in 25 of them broken; return the number of documents."""
    folder.mkdir(parents=True, exist_ok=True)
    text = _text(_hub(workloads.full(workloads.DEEPEST)) | {"metadata": {"name": "largest-0-0"}})
    broken = text.replace("minCount: 4", "minCount: 0", 1)
    for number in range(files):
        (folder / f"largest-{number:05}.yaml").write_text(
            (text if number % 25 else broken).replace("0-0", f"{number:05}"), encoding="utf-8"
        )
    return files


def one_file(file: Path, documents: int) -> int:
    """Write small PodGroups, Pods of them, and ConfigMaps into one file; return the number of documents."""
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-{0:06}\n  namespace: default\ndata:\n  level: info\n  retries: '3'\n  name: training-{0:06}\n  checkpoints: s3://training/{0:06}\n"
    with file.open("w", encoding="utf-8") as stream:
        for number in range(documents // 3):
            stream.write("---\n".join(("", *(each.format(number) for each in (_GROUP, _POD, other)))))
    return documents // 3 * 3


def schemas(folder: Path) -> None:
    """Write strict JSON Schemas of all kinds, made from the OpenAPI document in the Go module of Kubernetes."""
    cache = subprocess.run(["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True).stdout.strip()
    source = max(Path(cache).glob("k8s.io/kubernetes@v1.3*/api/openapi-spec/swagger.json"))
    definitions = {name: _strict(each) for name, each in json.loads(source.read_bytes())["definitions"].items()}
    folder.mkdir(parents=True, exist_ok=True)
    for kind, name in SCHEMAS.items():
        schema = definitions[f"io.k8s.api.{name}"]
        for key in ("apiVersion", "kind"):
            schema["properties"][key] = {"type": "string"}
        used = {each: definitions[each] for each in _used(schema, definitions)}
        group, version, _ = name.split(".")
        suffix = version if group == "core" else f"{group}-{version}"
        (folder / f"{kind.lower()}-{suffix}.json").write_text(json.dumps(schema | {"definitions": used}), encoding="utf-8")


def _strict(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without descriptions, which refuses unknown fields; strings that may be numbers are either."""
    if definition.get("format") == "int-or-string" or "Quantity" in definition.get("description", "")[:12]:
        return {"type": ["string", "number", "null"]}
    kept = _without_descriptions(definition)
    if "properties" in kept:
        kept["additionalProperties"] = False
    return kept


def _without_descriptions(value: Any) -> Any:
    if isinstance(value, dict):
        drop = isinstance(value.get("description"), str) or any(key.startswith("x-kubernetes") for key in value)
        listed = {key: each for key, each in value.items() if not (drop and (key == "description" or key.startswith("x-kubernetes")))}
        return {key: _without_descriptions(each) for key, each in listed.items()}
    return [_without_descriptions(each) for each in value] if isinstance(value, list) else value


def _used(schema: Any, definitions: dict[str, Any]) -> set[str]:
    used: set[str] = set()
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).rpartition("/")[2]
            if name and name not in used:
                used.add(name)
                waiting.append(definitions[name])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return used


def _text(value: dict[str, Any]) -> str:
    return yaml.dump(json.loads(json.dumps(value)), Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)


def _hub(workload: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": "Workload", "metadata": {"name": "w0-0", "labels": _LABELS}, "spec": workload["spec"]}


def _workload() -> dict[str, Any]:
    spec = workloads.usual()["spec"]
    leaves = spec["compositePodGroupTemplates"][0]["podGroupTemplates"]
    return _hub({"spec": {"controllerRef": spec["controllerRef"], "podGroupTemplates": leaves}})


def _pod_group() -> dict[str, Any]:
    spec = {
        "workloadRef": {"workloadName": "w0-0", "templateName": "worker"},
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/rack"}]},
        "disruptionMode": {"all": {}},
        "priorityClassName": "training",
    }
    return {"apiVersion": VERSION, "kind": "PodGroup", "metadata": {"name": "g0-0", "labels": _LABELS}, "spec": spec}


def _pod_spec() -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example/training/worker:1.4.2",
        "command": ["python", "-m", "training.main"],
        "args": ["--epochs=10", "--data=/data", "--checkpoint=/checkpoints"],
        "env": [{"name": f"SETTING_{number}", "value": f"value {number}"} for number in range(6)],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "checkpoints", "mountPath": "/checkpoints"}],
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "checkpoints", "emptyDir": {}}]
    return {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 30}


def _pod() -> dict[str, Any]:
    spec = {"schedulingGroup": {"podGroupName": "g0-0"}, "priorityClassName": "training", "restartPolicy": "Never"} | _pod_spec()
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p0-0", "labels": _LABELS}, "spec": spec}


def _deployment() -> dict[str, Any]:
    labels = {"app": "server-0-0"}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec()}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "server-0-0", "labels": _LABELS}, "spec": spec}


_EXAMPLES = {"Workload": _workload, "PodGroup": _pod_group, "Pod": _pod, "Deployment": _deployment}
