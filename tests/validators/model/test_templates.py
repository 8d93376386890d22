"""The walk that rules share: every template once, its path, and which of them are judged."""

from __future__ import annotations

from validators.field import FieldPath
from validators.model.templates import Templates
from validators.model.workload import CompositePodGroupTemplate, PodGroupTemplate, Policy, Workload, WorkloadSpec


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


def test_the_walk_tells_every_template_and_its_path() -> None:
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
    """Two templates that are equal stand in two places."""
    twins = (leaf("a"), leaf("a"))
    templates = Templates(workload(*twins), None)

    assert [FieldPath("spec", "podGroupTemplates", place) for place in (0, 1)] == [templates.path(twin) for twin in twins]


def test_on_creation_all_are_judged() -> None:
    templates = Templates(workload(composite("a", leaf("b")), composite("c", leaf("d"))), None)

    assert ["b", "d", "a", "c"] == templates.judged_names == templates.names


def test_nothing_below_a_list_that_is_too_long_is_judged() -> None:
    crowd = [composite(f"c{number}", leaf(f"l{number}")) for number in range(9)]
    templates = Templates(workload(composite("root", *crowd), composite("other", leaf("x"))), None)

    assert templates.judged_names == ["x", "root", "other"]
    assert len(templates.names) == 21


def test_eight_are_not_too_many() -> None:
    assert not Templates(workload(*(leaf(f"l{number}") for number in range(8))), None).crowded


def test_on_an_update_what_is_the_same_is_not_judged() -> None:
    old = workload(composite("a", leaf("b"), leaf("c")))
    new = workload(composite("a", leaf("c", priority=1), leaf("b")))
    templates = Templates(new, old)

    assert templates.judged_names == ["c", "a"]
    assert [getattr(templates.old(templates.judged_leaves[0]), "priority", 0), templates.judged_leaves[0].priority] == [None, 1]


def test_an_empty_list_is_as_good_as_none() -> None:
    old = workload(leaf("a"))
    new = Workload(spec=WorkloadSpec(pod_group_templates=(leaf("a"),), composite_pod_group_templates=None))

    assert Templates(new, old).judged == []


def test_a_list_that_gains_or_loses_an_item_is_not_entered() -> None:
    old = workload(composite("a", leaf("b")), composite("c", leaf("d")))
    new = workload(composite("a", leaf("b", priority=1), leaf("x")), composite("c", leaf("d", priority=2)))
    templates = Templates(new, old)
    changed = [(str(each.path), each.added, each.removed) for each in templates.lists if each.refused]

    assert templates.judged_names == ["d", "a", "c"]
    assert changed == [("spec.compositePodGroupTemplates[0].podGroupTemplates", [1], [])]


def test_absence_of_a_policy_is_an_empty_one() -> None:
    assert Policy() == leaf("a").scheduling_policy
