"""Findings about custom resources are those about the built-in kinds, in the examples of all rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeapi.versions import served_versions
from muster.commands.device_selectors import CompiledSelectors
from tests.custom_group import in_custom_group, path_in_custom_group
from validators import pipeline, rules
from validators.gates import Gates
from validators.lint import documents, lint_files
from validators.rules.base import Example, Operation, Settings

CASES = Path(__file__).parents[2] / "cases"
Found = list[tuple[str, str, str]]
LABEL = "there is one way to name a group by label, and no second one that could differ"
EXPLAINED = {
    "gate-off-bad-0": "no gate drops a field of custom resources",
    "pod-group-label-bad-0": LABEL,
    "pod-group-label-bad-1": LABEL,
    "scheduling-group-immutable-bad-0": "the label has a rule of its own: pod-group-label",
    "schema-enum-bad-1": "the custom API group has the kind in this version",
    "schema-union-bad-0": "a label has no empty group beside it",
}
"""Examples about which there are other findings if they are custom resources, and why."""


ONLY_CUSTOM = {"custom-group-claims", "custom-group-scheduler", "one-api-group"}
"""Rules about what nobody does for custom resources, and about objects of both API groups."""


def is_current(example: Example) -> bool:
    """Return whether all objects of an example have the current form, in which there are custom resources."""
    texts = [each for text in (example.yaml, example.old) for each in yaml.safe_load_all(text)]
    versions = (str(each.get("apiVersion")) for each in texts if isinstance(each, dict))
    return all(served_versions.form_of(each).is_current for each in versions)


def examples() -> list[object]:
    return [
        pytest.param(f"{rule.id}-{kind}-{number}", example, id=f"{rule.id}-{kind}-{number}")
        for rule in rules.ALL.values()
        for kind in ("good", "bad")
        for number, example in enumerate(getattr(rule, kind))
        if is_current(example)
    ]


def found(objects: list[Any], old: list[Any], example: Example) -> Found:
    minor, gates = int(example.kubernetes.partition(".")[2]), Gates(frozenset(example.gates_off))
    if old:
        for each in (*objects[:1], *old):
            each.setdefault("metadata", {}).setdefault("namespace", "default")
        judged = pipeline.validate(
            objects[0]["kind"],
            objects[0],
            old[0],
            Operation.UPDATE,
            api_version=objects[0]["apiVersion"],
            subresource="status" if example.status else "",
            settings=Settings(minor=minor, gates=gates),
        )
        return sorted((each.error.origin, each.severity.value, str(each.error.path)) for each in judged)
    text = "---\n".join(yaml.safe_dump(each, sort_keys=False) for each in objects).encode()
    settings = Settings(minor=minor, gates=gates, linting=True, whole_documents=True, selectors=CompiledSelectors())
    report = lint_files.run([documents.parse("f.yaml", text)], settings=settings)
    return sorted((each.rule, each.severity.value, each.field) for each in report.findings)


def parsed(text: str) -> list[Any]:
    return [each for each in yaml.safe_load_all(text) if each is not None]


def translated(findings: Found) -> Found:
    return sorted((rule, severity, path_in_custom_group(path)) for rule, severity, path in findings)


@pytest.mark.parametrize(("name", "example"), examples())
def test_an_example_is_judged_alike(name: str, example: Example) -> None:
    try:
        objects, old = parsed(example.yaml), parsed(example.old)
    except yaml.YAMLError:
        pytest.skip("the example is no YAML")
    built_in = [each for each in translated(found(objects, old, example)) if each[0] not in ONLY_CUSTOM]
    custom = [each for each in found(in_custom_group(objects), in_custom_group(old), example) if each[0] not in ONLY_CUSTOM]

    assert (built_in != custom) == (name in EXPLAINED), (built_in, custom)
