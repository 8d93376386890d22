"""``muster schema``: the building blocks, held against what the rest of the project knows of them."""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner, Result

from muster import cli
from muster.commands.schema import block_schemas
from validators.reports import custom_resources, field_docs
from workloadbuilder.blocks import map_composite_group_config, map_pod_group_config
from workloadbuilder.errors import BlockError

SCHEMAS = Path(__file__).parents[2] / "validators" / "schemas"
STRUCTS = {
    f"{prefix}{name}"
    for prefix in ("WorkloadPodGroup", "WorkloadCompositePodGroup")
    for name in (
        *("SchedulingPolicy", "BasicSchedulingPolicy", "GangSchedulingPolicy", "SchedulingConstraints"),
        *("DisruptionMode", "SingleDisruptionMode", "AllDisruptionMode"),
    )
} | {"WorkloadPodGroupResourceClaim", "TopologyConstraint"}


def schema(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["schema", *arguments])


def as_json(*names: str) -> dict[str, Any]:
    answer = schema("--building-blocks", *names)
    assert answer.exit_code == 0
    return json.loads(answer.stdout)


def accepts(name: str, value: object) -> bool:
    """Whether the JSON Schema of a struct accepts a value."""
    return jsonschema_rs.is_valid({**as_json(), "$ref": f"#/$defs/{name}"}, value)


def test_every_struct_of_the_document_is_there():
    assert STRUCTS == set(as_json()["$defs"])
    assert STRUCTS == set(yaml.safe_load(schema("--building-blocks", "--format", "openapi").stdout))


@pytest.mark.parametrize("kind", field_docs.KINDS)
def test_the_schema_of_a_kind(kind: str):
    printed = json.loads(schema(kind).stdout)

    jsonschema_rs.meta.validate(printed)
    assert printed["properties"]["kind"]["const"] == kind
    assert printed == field_docs.json_schema(kind)


def test_a_misspelt_kind_is_a_mistake_with_a_similar_one():
    assert "did you mean PodGroup" in schema("PodGruop").stderr


def test_it_is_a_json_schema():
    jsonschema_rs.meta.validate(as_json())


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["--building-blocks"], 0, id="all"),
        pytest.param([], 2, id="nothing asked for"),
        pytest.param(["podgroup"], 0, id="a kind"),
        pytest.param(["PodGroup", "Workload"], 2, id="two kinds"),
        pytest.param(["Deployment"], 2, id="a kind without a schema"),
        pytest.param(["PodGroup", "--format", "openapi"], 2, id="a kind as OpenAPI"),
        pytest.param(["--building-blocks", "WorkloadPodGroupPolicy"], 2, id="no such block"),
        pytest.param(["--crd"], 0, id="all definitions"),
        pytest.param(["--crd", "Pod"], 2, id="a kind without a definition"),
        pytest.param(["--crd", "--building-blocks"], 2, id="definitions and blocks"),
        pytest.param(["--crd", "--report", "fit"], 2, id="definitions and a report"),
    ],
)
def test_the_exit_status(arguments, want):
    assert want == schema(*arguments).exit_code


def test_the_definitions_are_documents_of_the_kinds():
    printed = [*yaml.safe_load_all(schema("--crd").stdout)]

    assert [*custom_resources.definitions()] == printed
    assert printed[:2] == [*yaml.safe_load_all(schema("--crd", "podgroup", "WORKLOAD").stdout)]


def test_a_misspelt_block_is_reported():
    assert "did you mean WorkloadPodGroupSchedulingPolicy" in schema("--building-blocks", "WorkloadPodGroupScedulingPolicy").stderr


def test_one_block_brings_what_it_needs():
    assert ["WorkloadPodGroupSchedulingConstraints", "TopologyConstraint"] == list(
        as_json("WorkloadPodGroupSchedulingConstraints")["$defs"]
    )


POLICIES = [
    {"basic": {}},
    {"gang": {}},
    {"gang": {"minCount": 1}},
    {"gang": {"minCount": 2**31 - 1}},
    {"gang": {"minGroupCount": 1}},
    {"gang": {"minCount": "1"}},
    {"gang": {"minCount": True}},
    {"basic": {}, "gang": {}},
    {},
    {"bsaic": {}},
    {"basic": {"x": 1}},
    [],
]
MODES = [{"single": {}}, {"all": {}}, {"single": {}, "all": {}}, {}, {"none": {}}, {"all": {"x": 1}}, "all"]
CONSTRAINTS = [
    {},
    {"topology": []},
    {"topology": [{"key": "a/b"}]},
    {"topology": [{"key": "b"}]},
    {"topology": [{"level": "b", "x": 1}]},
    {"topology": {}},
    [],
]
CLAIMS = [
    {"name": "a", "resourceClaimName": "b"},
    {"name": "a", "resourceClaimTemplateName": "b"},
    {"name": "a", "resourceClaimName": "b", "other": 1},
    {"name": "a", "resourceClaimName": 1},
]


def library_accepts(block: str, value: object, *, composite: bool) -> bool:
    try:
        if composite:
            map_composite_group_config(**{block: value})
        else:
            map_pod_group_config(**{block: value})
    except BlockError:
        return False
    return True


@pytest.mark.parametrize("composite", [False, True], ids=["pods", "groups"])
@pytest.mark.parametrize(
    ("struct", "block", "value"),
    [
        *(pytest.param("SchedulingPolicy", "policy", each, id=f"policy {json.dumps(each)}") for each in POLICIES),
        *(pytest.param("DisruptionMode", "disruption_mode", each, id=f"mode {json.dumps(each)}") for each in MODES),
        *(pytest.param("SchedulingConstraints", "constraints", each, id=f"constraints {json.dumps(each)}") for each in CONSTRAINTS),
    ],
)
def test_what_the_library_reads_the_schema_accepts(struct, block, value, composite):
    prefix = "WorkloadCompositePodGroup" if composite else "WorkloadPodGroup"

    assert library_accepts(block, value, composite=composite) == accepts(prefix + struct, value)


@pytest.mark.parametrize("value", CLAIMS, ids=json.dumps)
def test_claims_are_as_the_library_reads_them(value):
    assert library_accepts("resource_claims", [value], composite=False) == accepts("WorkloadPodGroupResourceClaim", value)


@pytest.mark.parametrize(
    ("struct", "value", "want"),
    [
        pytest.param("WorkloadPodGroupGangSchedulingPolicy", {"minCount": 0}, False, id="a minimum below one"),
        pytest.param("WorkloadPodGroupGangSchedulingPolicy", {"minCount": 2**31}, False, id="a minimum beyond 32 bits"),
        pytest.param("WorkloadPodGroupSchedulingConstraints", {"topology": [{"key": "a"}, {"key": "b"}]}, False, id="two constraints"),
        pytest.param("TopologyConstraint", {"key": ""}, False, id="an empty key"),
        pytest.param("TopologyConstraint", {"key": "a b"}, False, id="no label key"),
        pytest.param("TopologyConstraint", {"key": "topology.kubernetes.io/zone"}, True, id="a label key"),
        pytest.param("TopologyConstraint", {}, False, id="no key"),
        pytest.param("WorkloadPodGroupResourceClaim", {"name": "a"}, False, id="a claim from nowhere"),
        pytest.param(
            "WorkloadPodGroupResourceClaim",
            {"name": "a", "resourceClaimName": "b", "resourceClaimTemplateName": "c"},
            False,
            id="from both",
        ),
        pytest.param("WorkloadPodGroupResourceClaim", {"resourceClaimName": "b"}, False, id="a claim without a name"),
        pytest.param("WorkloadPodGroupResourceClaim", {"name": "A", "resourceClaimName": "b"}, False, id="a name that is no label"),
        pytest.param("WorkloadPodGroupResourceClaim", {"name": "a" * 63, "resourceClaimName": "b.c"}, True, id="the longest name"),
        pytest.param("WorkloadPodGroupResourceClaim", {"name": "a" * 64, "resourceClaimName": "b"}, False, id="one letter more"),
    ],
)
def test_limits(struct, value, want):
    assert want == accepts(struct, value)


def fields(schema: dict[str, Any]) -> dict[str, Any]:
    """The fields of a schema with their types, at all depths; limits and texts left out."""
    if schema.get("type") == "array":
        return {"[]": fields(schema["items"])}
    if schema.get("type") != "object":
        return {"type": schema["type"]}
    return {name: fields(each) for name, each in schema.get("properties", {}).items()}


@pytest.mark.parametrize(
    ("name", "struct"),
    [
        ("schedulingPolicy", "WorkloadPodGroupSchedulingPolicy"),
        ("schedulingConstraints", "WorkloadPodGroupSchedulingConstraints"),
        ("disruptionMode", "WorkloadPodGroupDisruptionMode"),
    ],
)
def test_a_jobs_blocks_are_those_of_the_validators(name, struct):
    """The Job is the one kind whose scheduling the validators' own schemas know."""
    job = json.loads((SCHEMAS / "job-v1.json").read_text(encoding="utf-8"))["properties"]["spec"]["properties"]["scheduling"]

    assert fields(job["properties"][name]) == fields(block_schemas.structural(struct))


def test_a_jobs_claims_are_those_of_the_validators():
    job = json.loads((SCHEMAS / "job-v1.json").read_text(encoding="utf-8"))["properties"]["spec"]["properties"]["scheduling"]

    assert fields(job["properties"]["resourceClaims"]["items"]) == fields(block_schemas.structural("WorkloadPodGroupResourceClaim"))


@pytest.mark.parametrize("struct", sorted(STRUCTS))
def test_both_formats_know_the_same_fields(struct):
    definitions = as_json()["$defs"]

    def expanded(value: Any) -> Any:
        if isinstance(value, dict):
            merged = {**definitions[value["$ref"].rpartition("/")[2]], **value} if "$ref" in value else value
            return {key: expanded(each) for key, each in merged.items() if key != "$ref"}
        return [expanded(each) for each in value] if isinstance(value, list) else value

    assert fields(expanded(definitions[struct])) == fields(block_schemas.structural(struct))


def test_structural_schemas_refer_to_nothing_and_close_nothing():
    """A CRD knows no ``$ref``, and no ``additionalProperties`` beside ``properties``."""
    text = schema("--building-blocks", "--format", "openapi").stdout

    assert ("$ref" in text, "additionalProperties" in text) == (False, False)


URI = {"type": "string", "pattern": "^https://"}
ENTRY = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "url", "description"],
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "fileMatch": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        "url": URI,
        "versions": {"type": "object", "additionalProperties": URI},
    },
}
CATALOG = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schemas", "version", "$schema"],
    "properties": {
        "$schema": {"enum": ["https://json.schemastore.org/schema-catalog.json"]},
        "version": {"type": "number"},
        "schemas": {"type": "array", "items": ENTRY},
    },
}
"""Form of SchemaStore's catalog (SchemaStore/schemastore, ``src/schemas/json/schema-catalog.json``)."""


def test_the_catalog_has_the_form_of_schemastore():
    answer = schema("--catalog", "https://schemas.example.com/")
    printed = json.loads(answer.stdout)

    jsonschema_rs.validate(CATALOG, printed)
    entries = {each["name"]: each for each in printed["schemas"]}
    assert entries["Muster"]["fileMatch"] == [".muster.yaml"]
    assert [each["url"] for each in entries.values()] == [
        "https://schemas.example.com/muster.json",
        *(f"https://schemas.example.com/muster-{kind}.json" for kind in ("compositepodgroup", "podgroup", "workload")),
    ]


def test_each_kind_of_the_catalog_has_a_schema_of_its_versions():
    for entry in json.loads(schema("--catalog", "https://schemas.example.com").stdout)["schemas"][1:]:
        printed = json.loads(schema(entry["name"].removeprefix("Kubernetes ")).stdout)
        versions = [each.rpartition("/")[2] for each in printed["properties"]["apiVersion"]["enum"]]
        assert [*dict.fromkeys(versions)] == [*entry["versions"]]


def test_file_names_of_the_catalog_are_those_of_their_kind_only():
    """SchemaStore refuses patterns that match files of others."""
    entries = json.loads(schema("--catalog", "https://schemas.example.com").stdout)["schemas"]
    names = [
        "a.workload.yaml",
        "a.podgroup.yml",
        "a.compositepodgroup.json",
        ".muster.yaml",
        "workload.yaml",
        "compositepodgroup.yaml",
        "a.yaml",
    ]
    matched = [[each["name"] for each in entries if any(fnmatch.fnmatchcase(name, one) for one in each["fileMatch"])] for name in names]
    assert matched == [["Kubernetes Workload"], ["Kubernetes PodGroup"], ["Kubernetes CompositePodGroup"], ["Muster"], [], [], []]


@pytest.mark.parametrize("arguments", [["PodGroup"], ["--report", "fit"], ["--building-blocks"], ["--format", "openapi"]])
def test_the_catalog_is_printed_alone(arguments: list[str]):
    answer = schema("--catalog", "https://schemas.example.com", *arguments)
    assert answer.exit_code == 2
    assert "is used alone" in answer.output


def test_the_catalog_must_be_published_with_encryption():
    answer = schema("--catalog", "http://schemas.example.com")
    assert answer.exit_code == 2
    assert "must begin with https://" in answer.output
