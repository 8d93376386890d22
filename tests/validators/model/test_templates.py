"""Walk over templates that rules share: every template once, with its path."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest

from kubeapi.field_path import FieldPath
from kubeapi.workloads import CompositePodGroupTemplate, PodGroupTemplate, Policy, Template, Workload, WorkloadSpec
from validators.model import templates as templates_module
from validators.model.templates import Templates, TemplatesByName


def leaf(name: str, **fields: object) -> PodGroupTemplate:
    return PodGroupTemplate(name=name, **fields)  # type: ignore[arg-type]


def composite(name: str, *children: PodGroupTemplate | CompositePodGroupTemplate) -> CompositePodGroupTemplate:
    leaves = tuple(each for each in children if isinstance(each, PodGroupTemplate))
    composites = tuple(each for each in children if isinstance(each, CompositePodGroupTemplate))
    return CompositePodGroupTemplate(name=name, pod_group_templates=leaves, composite_pod_group_templates=composites)


def workload(*roots: PodGroupTemplate | CompositePodGroupTemplate) -> Workload:
    top = composite("", *roots)
    return Workload(
        spec=WorkloadSpec(pod_group_templates=top.pod_group_templates, composite_pod_group_templates=top.composite_pod_group_templates)
    )


def paths(templates: Templates) -> list[str]:
    return [f"{path} {template.name}" for path, template in templates.walk()]


def test_the_walk_returns_every_template_and_its_path() -> None:
    tree = workload(composite("a", leaf("b"), composite("c", leaf("d"))), composite("e", leaf("f")))
    root = "spec.compositePodGroupTemplates"

    assert [
        f"{root}[0] a",
        f"{root}[0].podGroupTemplates[0] b",
        f"{root}[0].compositePodGroupTemplates[0] c",
        f"{root}[0].compositePodGroupTemplates[0].podGroupTemplates[0] d",
        f"{root}[1] e",
        f"{root}[1].podGroupTemplates[0] f",
    ] == paths(Templates(tree, None))


def test_a_path_is_that_of_the_very_template() -> None:
    """Two equal templates have two paths."""
    twins = (leaf("a"), leaf("a"))
    templates = Templates(workload(*twins), None)

    assert [FieldPath("spec", "podGroupTemplates", place) for place in (0, 1)] == [templates.path(twin) for twin in twins]


def test_on_creation_all_are_judged() -> None:
    templates = Templates(workload(composite("a", leaf("b")), composite("c", leaf("d"))), None)

    assert ["b", "d", "a", "c"] == templates.validated_names == templates.names


def test_nothing_below_a_list_that_is_too_long_is_judged() -> None:
    crowd = [composite(f"c{number}", leaf(f"l{number}")) for number in range(9)]
    templates = Templates(workload(composite("root", *crowd), composite("other", leaf("x"))), None)

    assert templates.validated_names == ["x", "root", "other"]
    assert len(templates.names) == 21


def test_eight_are_not_too_many() -> None:
    assert not Templates(workload(*(leaf(f"l{number}") for number in range(8))), None).has_long_list


def test_on_an_update_what_is_the_same_is_not_judged() -> None:
    old = workload(composite("a", leaf("b"), leaf("c")))
    new = workload(composite("a", leaf("c", priority=1), leaf("b")))
    templates = Templates(new, old)

    assert templates.validated_names == ["c", "a"]
    assert [getattr(templates.old(templates.validated_leaves[0]), "priority", 0), templates.validated_leaves[0].priority] == [None, 1]


def test_an_empty_list_is_as_good_as_none() -> None:
    old = workload(leaf("a"))
    new = Workload(spec=WorkloadSpec(pod_group_templates=(leaf("a"),), composite_pod_group_templates=None))

    assert Templates(new, old).validated == []


def test_a_list_that_gains_or_loses_an_item_is_not_entered() -> None:
    old = workload(composite("a", leaf("b")), composite("c", leaf("d")))
    new = workload(composite("a", leaf("b", priority=1), leaf("x")), composite("c", leaf("d", priority=2)))
    templates = Templates(new, old)
    changed = [(str(each.path), each.added, each.removed) for each in templates.lists if each.refused]

    assert templates.validated_names == ["d", "a", "c"]
    assert changed == [("spec.compositePodGroupTemplates[0].podGroupTemplates", [1], [])]


def test_absence_of_a_policy_is_an_empty_one() -> None:
    assert Policy() == leaf("a").scheduling_policy


class Counting(Templates):
    """Templates that count how often walks visit them."""

    steps = 0

    def walk(self) -> Iterator[tuple[FieldPath, Template]]:
        for each in super().walk():
            self.steps += 1
            yield each


def test_all_paths_cost_one_walk() -> None:
    """In any order of requests: thousands of errors must not cost thousands of walks."""
    tree = workload(*(composite(f"c{number}", *(leaf(f"l{number}-{each}") for each in range(8))) for number in range(8)))
    templates = Counting(tree, None)
    result = {templates.path(shape): shape for _ in range(2) for shape in reversed(templates.validated)}

    assert templates.steps == len(templates.validated) == 72
    assert [(path, result[path]) for path, _ in Templates(tree, None).walk()] == list(Templates(tree, None).walk())


def test_the_first_path_costs_no_more_than_its_way() -> None:
    templates = Counting(workload(*(leaf(f"l{number}") for number in range(8))), None)

    assert [str(templates.path(templates.leaves[1])), templates.steps] == ["spec.podGroupTemplates[1]", 2]


def test_a_name_is_found_with_the_template_above_it() -> None:
    """The first of several: the lists of a composite are read before the templates below them."""
    below, twin = composite("b", leaf("c"), leaf("d")), leaf("d", priority=1)
    above = composite("a", below, twin)
    named = TemplatesByName(workload(above))

    assert [named.find(name) for name in ("d", "b", "a", "c", "z", "c")] == [
        (twin, above),
        (below, above),
        (above, None),
        (leaf("c"), below),
        (None, None),
        (leaf("c"), below),
    ]


def test_all_names_are_found_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, walk = [], templates_module._walk_names
    monkeypatch.setattr(templates_module, "_walk_names", lambda spec: (steps.append(each) or each for each in walk(spec)))
    named = TemplatesByName(workload(*(leaf(f"l{number}") for number in range(8))))

    assert all(named.find(f"l{number}")[0] for _ in range(3) for number in range(8))
    assert [named.find("z") for _ in range(3)] == [(None, None)] * 3
    assert len(steps) == 8


def test_what_keeps_a_walk_is_freed_without_the_collector() -> None:
    new = workload(leaf("a"), leaf("b"))
    templates, named = Templates(new, None), TemplatesByName(new)
    assert str(templates.path(templates.leaves[0])) == "spec.podGroupTemplates[0]"
    assert named.find("a") == (leaf("a"), None)
    remaining = [weakref.ref(templates), weakref.ref(named)]
    del templates, named

    assert [each() for each in remaining] == [None, None]
