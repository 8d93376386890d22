"""Schemas of the kinds that create pods, and of the queues of Kueue: those of this API server, and those of CustomResourceDefinitions.

``python -m tests.cluster.kind_schemas FOLDER`` writes ``validators/schemas/kinds/controllers.json`` anew.  FOLDER has the
CustomResourceDefinitions as their projects publish them; ``SOURCES`` has the versions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cluster.api import Api
from tests.cluster.control_plane import ControlPlane
from tests.cluster.options import Options
from validators.lint import documents
from validators.lint.documents import Document

Schema = dict[str, Any]
FILE = Path(__file__).parents[2] / "validators" / "schemas" / "kinds" / "controllers.json"
SOURCES = {
    "": "Kubernetes 1.37.1",
    "argoproj.io": "Argo Workflows 4.1.2",
    "batch.volcano.sh": "Volcano 1.15.1",
    "grove.io": "Grove 0.1.0-alpha.12",
    "jobset.x-k8s.io": "JobSet 0.12.0",
    "kubeflow.org": "Kubeflow Training Operator 1.9.0 and MPI Operator 0.8.0",
    "kueue.x-k8s.io": "Kueue 0.17.0",
    "leaderworkerset.x-k8s.io": "LeaderWorkerSet 0.10.0",
    "ray.io": "KubeRay 1.7.0",
    "scheduling.volcano.sh": "Volcano 1.15.1",
    "serving.kserve.io": "KServe 0.20.0",
    "sparkoperator.k8s.io": "Spark Operator 2.5.0",
    "trainer.kubeflow.org": "Kubeflow Trainer 2.3.0",
    "workload.codeflare.dev": "AppWrapper 1.2.0",
}
"""Project and version of the schemas, by API group."""
BUILT_IN = {
    "v1": ("Pod", "ReplicationController"),
    "apps/v1": ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"),
    "batch/v1": ("Job", "CronJob"),
}
_PREFIX = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_ARGO = "argoproj.io"
_POD_SPEC = "io.k8s.api.core.v1.PodSpec"
_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}
_NOT_ENFORCED = frozenset({"value", "priority"})
"""Fields that published schemas require, of headers, sysctls and eviction responders, and that the API server does not."""
_KEPT = ("type", "enum", "required", "minimum", "maximum")
_QUANTITY = "Quantity"


def of_server(api: Api) -> tuple[Schema, dict[str, Schema]]:
    """Return the definitions of the built-in kinds, and a schema for each kind, as this API server publishes them."""
    published: Schema = {}
    for version in BUILT_IN:
        url = f"/openapi/v3/{'apis' if '/' in version else 'api'}/{version}"
        published |= api.send("GET", url).content["components"]["schemas"]
    definitions: Schema = {}
    kinds = {}
    for version, names in BUILT_IN.items():
        for name in names:
            full = next(each for each in published if _is_kind(published[each], version, name))
            kinds[f"{version}/{name}"] = _with_open_status(_built_in({"$ref": _PREFIX + full}, published, definitions), definitions)
    return definitions, kinds


def of_definitions(folder: Path, definitions: Mapping[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """Yield version with kind and schema of each version that the CustomResourceDefinitions in *folder* serve.

    *definitions* are those of the API server.
    """
    pod_spec = definitions["PodSpec"]["properties"]
    for file in sorted(folder.glob("*.yaml")):
        for part in documents.parse(file.name, file.read_bytes()).parts:
            content: Any = part.content if isinstance(part, Document) else {}
            if content.get("kind") != "CustomResourceDefinition":
                continue
            spec = content["spec"]
            for version in spec["versions"]:
                if version["served"]:
                    schema = _custom(version["schema"]["openAPIV3Schema"], pod_spec)
                    if spec["group"] == _ARGO:
                        _accept_scalars(schema)
                    schema["properties"] |= {"metadata": _reference(_META), "status": {}}
                    if spec["names"]["kind"] in _PROPOSED:
                        schema["properties"]["spec"]["properties"].setdefault("scheduling", {})
                    yield f"{spec['group']}/{version['name']}/{spec['names']['kind']}", schema


def text(definitions: Schema, kinds: Mapping[str, Schema]) -> str:
    """Return the file: one definition a line, equal parts once."""
    shared: Schema = {}
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for each in kinds.values():
        _count(each, counts)
    entries = {name: _shared(each, counts, names, shared) for name, each in kinds.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in sorted({**definitions, **shared}.items())]
    roots = [f"{json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in sorted(entries.items())]
    return f'{{"sources": {json.dumps(SOURCES)},\n"kinds": {{\n' + ",\n".join(roots) + '\n},\n"$defs": {\n' + ",\n".join(lines) + "\n}}\n"


def expanded(stored: Schema) -> dict[str, Schema]:
    """Return the schemas of a file by kind, without the parts that it has once for several kinds."""

    def inline(schema: Any) -> Any:
        if isinstance(schema, list):
            return [inline(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        return inline(stored["$defs"][name]) if name.startswith(_PART) else {key: inline(each) for key, each in schema.items()}

    return {name: inline(each) for name, each in stored["kinds"].items()}


def _is_kind(schema: Schema, version: str, kind: str) -> bool:
    group, _, name = version.rpartition("/")
    return {"group": group, "kind": kind, "version": name} in schema.get("x-kubernetes-group-version-kind", ())


def _with_open_status(reference: Schema, definitions: Schema) -> Schema:
    """Return the schema of a kind without that of its status, which is not part of what users write."""
    schema: Schema = definitions.pop(reference["$ref"].rpartition("/")[2])
    return {**schema, "properties": {**schema["properties"], "status": {}}}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name.rpartition('.')[2]}"}


def _built_in(schema: Schema, published: Schema, definitions: Schema) -> Schema:
    """Return the shape in a published schema; what it refers to is added to *definitions*."""
    if "allOf" in schema:
        return _built_in(schema["allOf"][0], published, definitions)
    if "$ref" in schema:
        full = schema["$ref"].removeprefix(_PREFIX)
        name = full.rpartition(".")[2]
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _built_in(published[full], published, definitions)
        return _reference(full)
    if "oneOf" in schema:
        types = {"type": [each["type"] for each in schema["oneOf"]]}
        return {**types, **_INT32} if schema.get("format") == "int-or-string" else {**types, "format": "quantity"}
    result = _without_required_parts(_shape(schema), schema)
    if "properties" in schema:
        result["properties"] = {name: _built_in(each, published, definitions) for name, each in schema["properties"].items()}
        result["additionalProperties"] = False
    elif isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = _built_in(schema["additionalProperties"], published, definitions)
    if "items" in schema:
        result["items"] = _built_in(schema["items"], published, definitions)
    if result == {"type": "object"} and not schema.get("description", "").startswith(_ANY):
        result |= {"properties": {}, "additionalProperties": False}
    return result


_ANY = "FieldsV1"
"""Beginning of the description of an object with any fields."""


def _shape(schema: Schema) -> Schema:
    result = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("type") == "integer" and schema.get("format") == "int32":
        result = {**_INT32, **result}
    if "required" in result:
        # A field with a default need not be given.
        given = [each for each in result.pop("required") if schema.get("properties", {}).get(each, {}).get("default") in (None, "", {})]
        result |= {"required": given} if given else {}
    return result


def _without_required_parts(result: Schema, schema: Schema) -> Schema:
    """Return *result* with the required scalars only: the API server takes a part that is absent for an empty one."""
    given = [each for each in result.pop("required", ()) if each not in _NOT_ENFORCED]
    scalars = [each for each in given if schema["properties"][each].get("type") not in (None, "array", "object")]
    return {**result, "required": scalars} if scalars else result


def _custom(schema: Schema, pod_spec: Schema) -> Schema:
    """Return the shape in the schema of a CustomResourceDefinition; pod templates have that of the API server, with *pod_spec*."""
    properties = schema.get("properties") or {}
    shared: Schema = {}
    if {"containers", "initContainers"} <= properties.keys():
        if properties.keys() <= pod_spec.keys():
            return _reference(_POD_SPEC)
        # A pod template with fields of the project besides.
        shared = pod_spec
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    result = _shape(schema)
    if "required" in result:
        set_later = {name for name, sibling in _SET_BY_WEBHOOKS if sibling in properties}
        result["required"] = [each for each in result["required"] if each not in set_later]
    if properties:
        is_template = {"metadata", "spec"} == properties.keys()
        # KEP-6089 proposes this field, which the adapters read; not all projects have it yet.
        proposed = {"scheduling": {}} if "backoffLimit" in properties and "template" in properties else {}
        result["properties"] = proposed | {
            name: _reference(_META) if is_template and name == "metadata" else shared.get(name) or _custom(each, pod_spec)
            for name, each in properties.items()
        }
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            result["additionalProperties"] = False
    elif isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = _custom(schema["additionalProperties"], pod_spec)
    if "items" in schema:
        result["items"] = _custom(schema["items"], pod_spec)
    return result


def _accept_scalars(schema: Any) -> None:
    """Let fields named ``value`` be any scalar: the controller of Argo reads numbers too, and its smaller definitions accept them."""
    if isinstance(schema, list):
        for each in schema:
            _accept_scalars(each)
    elif isinstance(schema, dict):
        value = (schema.get("properties") or {}).get("value")
        if isinstance(value, dict) and value.get("type") == "string":
            value["type"] = ["boolean", "number", "string"]
        for each in schema.values():
            _accept_scalars(each)


_PART = "part"
_PROPOSED = frozenset({"JobSet", "LeaderWorkerSet"})
"""Custom kinds for whose ``spec`` KEP-6089 proposes a field ``scheduling``."""
_SET_BY_WEBHOOKS = (
    ("name", "targetReplicatedJobs"),
    ("subdomainPolicy", "subdomainPolicy"),
    ("type", "rollingUpdateConfiguration"),
    ("roleName", "startsAfter"),
)
"""Required fields that webhooks of JobSet, LeaderWorkerSet and Grove set before the object is validated, each with a field beside it."""
_SHARED_FROM = 120
"""Characters of JSON from which equal parts are written once."""


def _count(schema: Any, counts: dict[str, int]) -> None:
    if isinstance(schema, dict):
        key = json.dumps(schema, sort_keys=True)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] > 1:
            return
    for each in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _count(each, counts)


def _shared(schema: Any, counts: Mapping[str, int], names: dict[str, str], shared: Schema) -> Any:
    if isinstance(schema, list):
        return [_shared(each, counts, names, shared) for each in schema]
    if not isinstance(schema, dict):
        return schema
    key = json.dumps(schema, sort_keys=True)
    if key in names:
        return {"$ref": f"#/$defs/{names[key]}"}
    result = {name: _shared(each, counts, names, shared) for name, each in schema.items()}
    if "type" in schema and isinstance(schema["type"], (str, list)) and counts[key] > 1 and len(key) >= _SHARED_FROM:
        names[key] = f"{_PART}{len(names):03}"
        shared[names[key]] = result
        return {"$ref": f"#/$defs/{names[key]}"}
    return result


def main(folder: str) -> int:
    """Write the schemas of a control plane and of the CustomResourceDefinitions in *folder*."""
    with ControlPlane(Options()) as plane:
        definitions, kinds = of_server(plane.api)
    kinds |= of_definitions(Path(folder), definitions)
    FILE.write_text(text(definitions, kinds), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
