"""Strategies of valid objects of retired versions, in all styles in which manifests are written."""

from __future__ import annotations

import json
import random
from typing import Any

import yaml
from hypothesis import strategies as st

NAME = st.sampled_from(["a", "b", "train", "on", "12", "0x1f", "x.y-z", "null"])
LABEL = NAME.filter(lambda name: "." not in name)
COUNT = st.integers(1, 2**31 - 1)
CLASS = st.sampled_from(["high", "off", "10"])
KEY = st.one_of(st.none(), st.just(""), st.sampled_from(["r0", "r1", "7"]))


def absent_or(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw a value or None for an absent field."""
    return st.one_of(st.none(), value)


def mapping(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw mappings with these fields in any order, without those that are None."""
    result = st.fixed_dictionaries(fields).flatmap(lambda each: st.permutations(sorted(each.items())))
    return result.map(lambda items: {name: value for name, value in items if value is not None})


POLICY = st.one_of(st.just({"basic": {}}), COUNT.map(lambda count: {"gang": {"minCount": count}}))
COUNTED = st.one_of(POLICY, COUNT.map(lambda count: {"basic": {"desiredCount": count}}))
MODE = st.sampled_from(["Pod", "PodGroup"])
META = mapping(name=NAME, namespace=absent_or(st.just("ns")), labels=absent_or(st.just({"app": "on"})))
CONTROLLER = mapping(apiGroup=absent_or(st.just("batch")), kind=st.just("Job"), name=NAME)


def unique(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, min_size=1, max_size=4, unique_by=lambda each: each["name"])


def workload_1(policy: st.SearchStrategy[Any] = COUNTED) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a Workload of v1alpha1."""
    spec = mapping(controllerRef=absent_or(CONTROLLER), podGroups=unique(mapping(name=LABEL, policy=policy)))
    return mapping(apiVersion=st.just("scheduling.k8s.io/v1alpha1"), kind=st.just("Workload"), metadata=META, spec=spec)


SHAPE: dict[str, st.SearchStrategy[Any]] = {
    "schedulingPolicy": POLICY,
    "schedulingConstraints": absent_or(st.just({"topology": [{"key": "example.com/rack"}]})),
    "disruptionMode": absent_or(MODE),
}
WORKLOAD_2 = mapping(
    apiVersion=st.just("scheduling.k8s.io/v1alpha2"),
    kind=st.just("Workload"),
    metadata=META,
    spec=mapping(podGroupTemplates=unique(mapping(name=LABEL, **SHAPE))),
)
CONDITION = mapping(
    type=st.sampled_from(["PodGroupScheduled", "DisruptionTarget"]),
    status=st.sampled_from(["True", "False"]),
    reason=st.just("Scheduled"),
    lastTransitionTime=st.just("2026-05-04T03:02:01Z"),
)
REFERENCE = mapping(workload=mapping(workloadName=NAME, podGroupTemplateName=LABEL))
GROUP_2 = mapping(
    apiVersion=st.just("scheduling.k8s.io/v1alpha2"),
    kind=st.just("PodGroup"),
    metadata=META,
    spec=mapping(podGroupTemplateRef=absent_or(REFERENCE), priorityClassName=absent_or(CLASS), **SHAPE),
    status=absent_or(mapping(conditions=st.lists(CONDITION, max_size=2, unique_by=lambda each: each["type"]))),
)
RETIRED = st.one_of(workload_1(), WORKLOAD_2, GROUP_2)


def pods_of(workload: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a pod, or a controller of pods, that names one of the Workload's groups."""
    metadata = workload["metadata"]
    group = st.sampled_from([each["name"] for each in workload["spec"]["podGroups"]])
    reference = mapping(name=st.just(metadata["name"]), podGroup=group, podGroupReplicaKey=KEY)
    spec = mapping(workloadRef=reference, priorityClassName=absent_or(CLASS), containers=st.just([{"name": "main", "image": "x"}]))
    where = {"metadata": mapping(name=NAME, namespace=st.just(metadata.get("namespace")))}
    return st.one_of(
        mapping(apiVersion=st.just("v1"), kind=st.just("Pod"), spec=spec, **where),
        mapping(apiVersion=st.just("batch/v1"), kind=st.just("Job"), spec=mapping(template=mapping(spec=spec)), **where),
        mapping(apiVersion=st.just("apps/v1"), kind=st.just("Deployment"), spec=mapping(template=mapping(spec=spec)), **where),
    )


@st.composite
def jobs(draw: st.DrawFn, policy: st.SearchStrategy[Any] = COUNTED) -> list[dict[str, Any]]:
    """Draw a Workload of v1alpha1 and its pods, in any order."""
    workload = draw(workload_1(policy))
    pods = draw(st.lists(pods_of(workload), max_size=3))
    return draw(st.permutations([workload, *pods]))


def _commented(text: str, chance: random.Random) -> str:
    """Draw YAML in block style with comments on and between lines.  No scalar spans lines."""
    lines = []
    for number, line in enumerate(text.split("\n")):
        if line and chance.random() < 0.3:
            lines.append(" " * (len(line) - len(line.lstrip(" "))) + f"# above {number}")
        is_behind = line and not line.startswith("---") and chance.random() < 0.3
        lines.append(f"{line}  # behind {number}" if is_behind else line)
    return "\n".join(lines)


@st.composite
def texts(draw: st.DrawFn, objects: list[dict[str, Any]]) -> tuple[str, str]:
    """Draw a file name and a text that holds *objects*."""
    whole: list[dict[str, Any]] = objects
    if draw(st.booleans()):
        whole = [{"apiVersion": "v1", "kind": "List", "items": objects}]
    if draw(st.integers(0, 3)) == 0:
        layout = draw(st.sampled_from([{"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}]))
        return "a.json", "\n".join(json.dumps(each, **layout) for each in whole) + draw(st.sampled_from(["", "\n"]))
    flow = draw(st.sampled_from([False, None, True]))
    style = draw(st.sampled_from([None, "'", '"']))
    text = yaml.safe_dump_all(
        whole, default_flow_style=flow, default_style=style, sort_keys=False, indent=draw(st.sampled_from([2, 4])), width=10_000
    )
    if style is not None:
        # Only texts are quoted: the dumper would tag the rest.
        text = yaml.safe_dump_all(whole, default_flow_style=flow, sort_keys=False, width=10_000)
    if flow is False:
        text = _commented(text, draw(st.randoms(use_true_random=False)))
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    return "a.yaml", draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def files(objects: st.SearchStrategy[list[dict[str, Any]]]) -> st.SearchStrategy[tuple[str, str]]:
    """Draw files with such objects."""
    return objects.flatmap(texts)
