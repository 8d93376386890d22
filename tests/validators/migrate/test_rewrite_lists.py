"""Text of migrated lists, anchors and files that are refused."""

from __future__ import annotations

import textwrap

import pytest

from tests.validators.migrate.migrating import migrate, pod, text_of, together
from tests.validators.migrate.texts import HEAD, HEAD_2, HEAD_2_AFTER, POLICY

LIST = "apiVersion: v1\nkind: List\nitems:\n"


def item(text: str) -> str:
    return "- " + textwrap.indent(text, "  ").lstrip()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            HEAD_2.replace("scheduling", "&version scheduling") + "spec: {schedulingPolicy: {basic: {}}}\n",
            HEAD_2_AFTER.replace("scheduling", "&version scheduling") + "spec: {schedulingPolicy: {basic: {}}}\n",
            id="an anchor stays",
        ),
        pytest.param(
            LIST
            + item(HEAD_2.replace("scheduling", "&version scheduling") + "spec: &spec\n  disruptionMode: PodGroup\n" + POLICY)
            + item(HEAD_2.replace("scheduling.k8s.io/v1alpha2", "*version") + "spec: *spec\n")
            + item(HEAD_2 + "spec:\n  <<: *spec\n"),
            LIST
            + item(HEAD_2_AFTER.replace("scheduling", "&version scheduling") + "spec: &spec\n  disruptionMode: {all: {}}\n" + POLICY)
            + item(HEAD_2_AFTER + "spec: *spec\n")
            + item(HEAD_2_AFTER + "spec:\n  <<: *spec\n"),
            id="what is shared changes once",
        ),
        pytest.param(
            LIST
            + item(pod("p").replace("{name: train", "&ref {name: train"))
            + item(pod("q").replace("{name: train, podGroup: workers}", "*ref")),
            LIST
            + item(pod("p").replace("workloadRef: {name: train, podGroup: workers}", "schedulingGroup: &ref {podGroupName: train-workers}"))
            + item(pod("q").replace("workloadRef: {name: train, podGroup: workers}", "schedulingGroup: {podGroupName: train-workers}")),
            id="an alias of a reference",
        ),
        pytest.param(
            LIST
            + item(pod("p").replace("{name: train", "&ref {name: train"))
            + item(pod("q").replace(" {name: train, podGroup: workers}", "\n    <<: *ref   # one\n    podGroupReplicaKey: r0")),
            LIST
            + item(pod("p").replace("workloadRef: {name: train, podGroup: workers}", "schedulingGroup: &ref {podGroupName: train-workers}"))
            + item(
                pod("q").replace(
                    "workloadRef: {name: train, podGroup: workers}", "schedulingGroup: {podGroupName: train-workers-r0}\n    # one"
                )
            ),
            id="a reference that is partly merged",
        ),
        pytest.param(
            "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroupList\nitems:\n- metadata: {name: a}\n  spec: {schedulingPolicy: {basic: {}}}\n",
            "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroupList\nitems:\n- metadata: {name: a}\n  spec: {schedulingPolicy: {basic: {}}}\n",
            id="the version of a list",
        ),
    ],
)
def test_anchors_and_lists(before: str, after: str) -> None:
    assert after == text_of(migrate(before))


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(
            HEAD_2.replace("scheduling", "&version scheduling").replace("workers}", "workers, labels: {was: *version}}")
            + "spec:\n"
            + POLICY,
            id="what is shared with something else",
        ),
        pytest.param(
            LIST
            + item(pod("p").replace("workers}", "&group workers}"))
            + item(pod("q").replace("name: q", "name: q, labels: {of: *group}")),
            id="an anchor that would go",
        ),
        pytest.param(HEAD_2 + "spec:\n  disruptionMode: !!str PodGroup\n" + POLICY, id="a tag that would lie"),
        pytest.param(HEAD + "spec:\n  &key podGroups:\n  - {name: a, policy: {basic: {}}}\n", id="an anchor of a key"),
        pytest.param(
            HEAD_2 + "spec:\n  podGroupTemplateRef:\n    workload: &ref\n      workloadName: w\n      podGroupTemplateName: t\n" + POLICY,
            id="an anchor of a mapping that moves",
        ),
        pytest.param(
            HEAD_2 + "spec:\n  ? podGroupTemplateRef\n  : workload:\n      workloadName: w\n      podGroupTemplateName: t\n" + POLICY,
            id="a question mark above a mapping that moves",
        ),
        pytest.param(
            HEAD_2 + "spec:\n  podGroupTemplateRef: { # one\n    workload: {workloadName: w, podGroupTemplateName: t}}\n" + POLICY,
            id="a comment between two braces",
        ),
        pytest.param(
            pod("p").replace(" {name: train, podGroup: workers}", "\n    ? name\n    : train\n    ? podGroup\n    : workers"),
            id="question marks in a reference",
        ),
        pytest.param(
            LIST
            + item(pod("p").replace("{name: train", "&ref {name: train"))
            + item(
                pod("q").replace(
                    "  workloadRef: {name: train, podGroup: workers}", "  ? workloadRef\n  : <<: *ref\n    podGroupReplicaKey: r0"
                )
            ),
            id="a question mark above a reference that is partly merged",
        ),
        pytest.param(
            together(
                HEAD + "spec:\n  podGroups:\n  - ? name\n    : workers\n    ? policy\n    : {basic: {}}\n",
                pod("p", more="  priorityClassName: high\n"),
            ),
            id="a question mark where a field would be added",
        ),
        pytest.param(
            "metadata: {annotations: {was: &version scheduling.k8s.io/v1alpha2}}\napiVersion: *version\nkind: PodGroupList\n"
            "items: [{metadata: {name: a}, spec: {schedulingPolicy: {basic: {}}}}]\n",
            id="a list whose version is an alias",
        ),
        pytest.param(
            LIST
            + item(pod("p").replace("spec:", "spec: &spec"))
            + item("apiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: other}\nspec: *spec\n")
            + item(
                "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: train-workers, namespace: other}\nspec:\n" + POLICY
            ),
            id="what is shared and would become two",
        ),
    ],
)
def test_text_that_cannot_be_changed_piece_by_piece_is_refused(before: str) -> None:
    migration = migrate(before)

    assert migration.exit_status & 2
    assert [before] == [text_of(migration)]
    assert ["cannot be rewritten in its own text"] == [each.message.partition(":")[0] for each in migration.refused]


def test_two_groups_may_share_a_reference() -> None:
    reference = "podGroupTemplateRef: &ref {workload: {workloadName: w, podGroupTemplateName: t}}"
    before = LIST + item(HEAD_2 + f"spec:\n  {reference}\n{POLICY}") + item(HEAD_2 + f"spec:\n  podGroupTemplateRef: *ref\n{POLICY}")
    after = before.replace("v1alpha2", "v1beta1").replace(reference, "workloadRef: &ref {workloadName: w, templateName: t}")

    assert after.replace("podGroupTemplateRef: *ref", "workloadRef: *ref") == text_of(migrate(before))
