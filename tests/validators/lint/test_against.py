"""Changes of objects: matched by name, and validated by the rules about updates."""

from __future__ import annotations

import pytest

from tests.validators.rules.test_every_rule import settings
from validators import rules
from validators.lint import against, documents, lint_files
from validators.lint.against import Before, Placed
from validators.rules.base import Example, Operation

GROUP = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {{name: {}}}\nspec: {{schedulingPolicy: {{gang: {{minCount: {}}}}}}}\n"


def placed(**names: str) -> list[Placed]:
    """Return one PodGroup for each name of each place."""
    texts = {place: "---\n".join(GROUP.format(*each.split("=")) for each in listed.split()) for place, listed in names.items()}
    return [each for place, text in texts.items() for each in against.objects_in(place, documents.parse(place, text.encode()))]


def counts(before: list[Placed], after: list[Placed]) -> list[int | None]:
    """Return ``minCount`` of the object before the change of each object."""
    olds = Before(before, str).matched([(each.place, each.object) for each in after])
    return [old and old.spec.scheduling_policy.gang.min_count for old in olds]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param(placed(a="w=1"), placed(a="w=9"), [1], id="the same file"),
        pytest.param(placed(a="w=1"), placed(b="w=9"), [1], id="a renamed file"),
        pytest.param(placed(a="w=1 x=2"), placed(b="x=9", c="w=9"), [2, 1], id="a file that was split"),
        pytest.param(placed(dev="w=1", prod="w=2"), placed(prod="w=9", dev="w=9"), [2, 1], id="twins in the same files"),
        pytest.param(placed(dev="w=1", prod="w=2"), placed(test="w=9", dev="w=9"), [2, 1], id="one of two was moved"),
        pytest.param(placed(dev="w=1", prod="w=2"), placed(test="w=9"), [None], id="either of two may have been moved"),
        pytest.param(placed(dev="w=1"), placed(dev="w=9", prod="w=9"), [1, None], id="a copy is new"),
        pytest.param(placed(dev="w=1"), placed(test="w=9", prod="w=9"), [None, None], id="either of two copies may be the old one"),
        pytest.param(placed(a="w=1"), placed(a="x=9"), [None], id="another name"),
        pytest.param(placed(a="w=1 w=2"), placed(a="w=9 w=9"), [1, 2], id="twice in one file"),
    ],
)
def test_objects_are_matched_by_name(before: list[Placed], after: list[Placed], want: list[int | None]) -> None:
    assert want == counts(before, after)


def test_an_object_without_a_name_and_unreadable_text_are_left_out() -> None:
    text = "kind: [\n---\nkind: PodGroup\napiVersion: scheduling.k8s.io/v1beta1\nmetadata: {generateName: w-}\n---\n- 1\n"
    assert [] == list(against.objects_in("a", documents.parse("a", text.encode())))


EXAMPLES = [
    pytest.param(rule.id, example, id=f"{rule.id}-{number}")
    for rule in rules.discover().values()
    if Operation.UPDATE in rule.on and not rule.status
    for number, example in enumerate(rule.bad)
    if example.old
]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_change_has_the_findings_of_the_rule(rule: str, example: Example) -> None:
    old = documents.parse("before.yaml", example.old.encode())
    new = documents.parse("after.yaml", example.yaml.encode())
    before = Before(list(against.objects_in("moved", old)), lambda _: "here")
    report = lint_files.run([new], settings=settings(example, linting=True), before=before)
    found = [(each.field, each.message) for each in report.findings if each.rule == rule]
    assert set(example.at) <= {path for path, _ in found}
    assert len(found) == len(set(found))
