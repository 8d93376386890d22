"""Fixes change the key or value of a finding and nothing else."""

from __future__ import annotations

import dataclasses
import json
import random
import re

import pytest
import yaml

from muster.commands.lint import fix_files
from tests.quick_yaml import documents
from tests.sampling import sampled
from validators import rules
from validators.lint.documents import Unreadable
from validators.lint.files import Source
from validators.rules.base import GROUPS, WORKLOAD, Settings

SETTINGS = Settings(linting=True)
KEY = re.compile(
    r"\b(schedulingPolicy|minCount|minGroupCount|disruptionMode|priorityClassName|preemptionPolicy|workloadRef|templateName|topology)(?=['\"]?:)"
)
TEXTS = [
    each.yaml
    for rule in rules.discover().values()
    for each in rule.good
    if not each.old
    and each.kubernetes == "1.37"
    and KEY.search(each.yaml)
    and {document["kind"] for document in documents(each.yaml)} <= WORKLOAD | GROUPS
]
COUNT = re.compile(r"(?<=ount: )\d+|(?<=ount\": )\d+")
POLICY = re.compile(r"\b(Never|PreemptLowerPriority)\b")


def fixed(text: str, *, unsafe: bool = False, name: str = "f.yaml") -> str:
    result = fix_files.fix([Source(name, name, text.encode())], [], SETTINGS, unsafe=unsafe)
    return result.files[0].after.decode() if result.files else text


def letter_lost(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1 :]


def in_layout(text: str, rng: random.Random) -> str:
    """Write a text with other quotes, comments, line ends and order of keys."""
    if rng.random() < 0.2:
        documents = list(yaml.safe_load_all(text))
        text = "---\n".join(yaml.safe_dump(each, sort_keys=rng.random() < 0.5, width=40) for each in documents)
    quote = rng.choice(["", "", "'", '"'])
    text = KEY.sub(lambda match: f"{quote}{match[0]}{quote}", text)
    lines = [line + rng.choice(["", "", "  # why"]) if line.strip() and not line.startswith("---") else line for line in text.split("\n")]
    return rng.choice(["", "\ufeff"]) + rng.choice(["\n", "\r\n"]).join(lines)


@pytest.mark.parametrize("seed", range(sampled(400)))
def test_a_fixed_mistake_leaves_the_text_as_it_was(seed: int) -> None:
    """Misspelt keys, counts in quotes and policies in lower case become what they were before, byte for byte."""
    rng = random.Random(seed)
    text = in_layout(rng.choice(TEXTS), rng)
    wrong = text
    for pattern, mistake in (
        (KEY, lambda match: letter_lost(match[0], rng)),
        (COUNT, lambda match: f'"{match[0]}"'),
        (POLICY, lambda match: match[0].lower()),
    ):
        matches = list(pattern.finditer(wrong))
        if matches and rng.random() < 0.7:
            match = rng.choice(matches)
            wrong = wrong[: match.start()] + mistake(match) + wrong[match.end() :]

    assert fixed(wrong) == text
    assert fixed(text) == text


@pytest.mark.parametrize("seed", range(sampled(100)))
def test_json_is_fixed_like_yaml(seed: int) -> None:
    rng = random.Random(seed)
    documents = list(yaml.safe_load_all(rng.choice(TEXTS)))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}, indent=rng.choice([None, 1, 4]))
    matches = list(KEY.finditer(text))
    match = rng.choice(matches)
    wrong = text[: match.start()] + letter_lost(match[0], rng) + text[match.end() :]

    assert fixed(wrong, name="f.json") == text


HEAD = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "metadata: {name: a, labels: {x: &one 1, y: !!int 2, z: 0x10}}",
            'metadata: {name: a, labels: {x: &one "1", y: !!int 2, z: "0x10"}}',
        ),
        ("metadata: {name: a, labels: {x: yes, y: 1.10}}", 'metadata: {name: a, labels: {x: "yes", y: "1.10"}}'),
        ("metadata: {name: a, lables: {}, labls: {}}", "metadata: {name: a, lables: {}, labls: {}}"),
        ("metadata: {name: a, lables: {}, labels: {}}", "metadata: {name: a, lables: {}, labels: {}}"),
        ("metadata: {name: a, annotation: {x: y}}", 'metadata: {name: a, annotations: {x: "y"}}'),
        ("metadata: {name: a, anntations: {b: {}}}", "metadata: {name: a, annotations: {b: {}}}"),
    ],
)
def test_what_is_replaced(text: str, want: str) -> None:
    """Anchors stay; tags, aliases and keys that would occur twice are not touched."""
    rest = "\nspec: {schedulingPolicy: {basic: {}}}\n"
    head = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"

    assert fixed(head + text + rest) == head + want + rest


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("metadata: {name: a, labels: {x: &one 1, y: *one}}\nspec: {schedulingPolicy: {basic: {}}}", ("x: &one 1", 'x: &one "1"')),
        ("metadata: {name: a, labels: {x: &one 1}}\nspec: {schedulingPolicy: {gang: {minCount: *one}}}", ("x: &one 1", 'x: &one "1"')),
        ("metadata: {name: a}\nspec: &spec\n  schedulingPolicy: {gang: {minCuont: 4}}\nother: [*spec]", ("minCuont", "minCount")),
        ("metadata: {name: a}\nspec: {schedulingPolicy: {gang: {&key minCuont: 4}}}\nother: *key", ("minCuont", "minCount")),
    ],
)
def test_a_value_that_an_alias_repeats_is_changed_only_if_unsafe_fixes_are_wanted(text: str, want: tuple[str, str]) -> None:
    text = f"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n{text}\n"

    assert fixed(text) == text
    assert fixed(text, unsafe=True) == text.replace(*want)


def test_a_field_of_a_merged_mapping_is_not_fixed() -> None:
    text = HEAD + "x: &x {preemptionPolcy: Never}\nspec:\n  <<: *x\n  schedulingPolicy: {basic: {}}\n"

    assert fixed(text) == text


def test_an_unsafe_fix_is_applied_only_if_it_is_wanted() -> None:
    text = HEAD + "spec: {schedulingPolicy: {basic: {}}, disruptMode: {single: {}}}\n"

    assert fixed(text) == text
    assert fixed(text, unsafe=True) == text.replace("disruptMode", "disruptionMode")


def test_one_fix_can_uncover_another() -> None:
    text = HEAD.replace("PodGroup", "Podgroup") + 'spec: {schedulingPolicy: {gang: {minCuont: "2"}}}\n'
    result = fix_files.fix([Source("f.yaml", "f.yaml", text.encode())], [], SETTINGS, unsafe=False)

    assert result.files[0].after.decode() == HEAD + "spec: {schedulingPolicy: {gang: {minCount: 2}}}\n"
    assert (result.fixes, result.report.findings) == (3, ())


def test_nothing_that_is_fixed_becomes_unreadable() -> None:
    """Every bad example of every rule can be read after all of its fixes, unsafe ones too."""
    for rule in rules.discover().values():
        for example in rule.bad:
            result = fix_files.fix([Source("f.yaml", "f.yaml", example.yaml.encode())], [], SETTINGS, unsafe=True)
            before = isinstance(Source("f.yaml", "f.yaml", example.yaml.encode()).manifest().parts[0], Unreadable)
            assert result.report.has_unreadable is before or rule.id == "unreadable"


UPGRADE = """\
kind: Workload
apiVersion: scheduling.k8s.io/v1beta1
metadata: {name: train}
spec:
  compositePodGroupTemplates:
  - name: replica  # one of two
    schedulingPolicy: {gang: {minGroupCount: 1}}
    disruptionMode: {all: {}}
    podGroupTemplates:
    - schedulingPolicy: {gang: {minCount: 1}}
      name: driver
    - {name: workers, schedulingPolicy: {gang: {minCount: 4}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: train-0
  annotations:
    # the template
    scheduling.k8s.io/group-template-name: leaf
spec: {template: {spec: {containers: []}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: leaves}
spec:
  podGroupTemplates:
  - name: leaf
    schedulingPolicy: {gang: {minCount: 4}}
"""
UPGRADED = (
    UPGRADE.replace("    - schedulingPolicy", "    - disruptionMode: {all: {}}\n      schedulingPolicy")
    .replace("workers, scheduling", "workers, disruptionMode: {all: {}}, scheduling")
    .replace("    scheduling.k8s.io/group", "    scheduling.k8s.io/workload-name: leaves\n    scheduling.k8s.io/group")
)
AFTER_UPGRADE = dataclasses.replace(SETTINGS, minor=38)


def upgraded(text: str, *, name: str = "f.yaml") -> str:
    result = fix_files.fix([Source(name, name, text.encode())], [], AFTER_UPGRADE, unsafe=False)
    assert result.report.findings == ()
    return result.files[0].after.decode() if result.files else text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_fields_that_the_next_version_requires_are_added_where_they_belong(newline: str) -> None:
    assert upgraded(UPGRADE.replace("\n", newline)) == UPGRADED.replace("\n", newline)
    assert upgraded(UPGRADED) == UPGRADED


@pytest.mark.parametrize("indent", [None, 2])
def test_fields_are_added_in_json(indent: int | None) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents(UPGRADE))}, indent=indent)

    assert [*documents(UPGRADED)] == json.loads(upgraded(text, name="f.json"))["items"]


@pytest.mark.parametrize(
    "annotations",
    ["&all\n    scheduling.k8s.io/group-template-name: leaf", "{scheduling.k8s.io/group-template-name: leaf}"],
)
def test_fields_are_added_to_mappings_of_both_styles(annotations: str) -> None:
    text = UPGRADED.replace("\n    # the template\n    scheduling.k8s.io/workload-name: leaves", "").replace(
        "\n    scheduling.k8s.io/group-template-name: leaf", f" {annotations}"
    )

    assert [*documents(UPGRADED)] == [*documents(upgraded(text))]


def test_what_has_several_mendings_is_left() -> None:
    text = UPGRADED.replace("metadata: {name: leaves}", "metadata: {name: other}") + "---\n" + UPGRADED.rpartition("---\n")[2]
    several = text.replace("    scheduling.k8s.io/workload-name: leaves\n", "")
    basic = UPGRADED.replace("{gang: {minCount: 1}}", "{basic: {}}").replace("    - disruptionMode: {all: {}}\n      s", "    - s")

    for each in (several, basic):
        result = fix_files.fix([Source("f.yaml", "f.yaml", each.encode())], [], AFTER_UPGRADE, unsafe=False)
        assert result.files == ()
        assert result.report.findings != ()
