"""Text of a migrated PodGroup and Pod."""

from __future__ import annotations

import textwrap

import pytest

from tests.validators.migrate.migrating import migrate, text_of
from tests.validators.migrate.texts import HEAD_2, HEAD_2_AFTER, POLICY, block


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
              podGroupTemplateRef:   # one
                # two
                workload:   # three
                  # four
                  podGroupTemplateName: t   # five
                  # six
                  workloadName: w   # seven
              disruptionMode: PodGroup   # eight
            """,
            """
              workloadRef:   # one
                # two
                # three
                # four
                templateName: t   # five
                # six
                workloadName: w   # seven
              disruptionMode: {all: {}}   # eight
            """,
            id="block style",
        ),
        pytest.param(
            """
              podGroupTemplateRef:
                workload: {workloadName: w, podGroupTemplateName: t}   # one
              "disruptionMode": 'Pod'
            """,
            """
              workloadRef: {workloadName: w, templateName: t}   # one
              "disruptionMode": {single: {}}
            """,
            id="flow style inside block style",
        ),
        pytest.param(
            """
              podGroupTemplateRef:   # one
                workload: {workloadName: w, podGroupTemplateName: t}
            """,
            """
              workloadRef:   # one
                {workloadName: w, templateName: t}
            """,
            id="a comment between",
        ),
        pytest.param(
            """
              podGroupTemplateRef: {workload: {workloadName: w,
                podGroupTemplateName: t}}
              disruptionMode: &mode PodGroup
            """,
            """
              workloadRef: {workloadName: w,
                templateName: t}
              disruptionMode: &mode {all: {}}
            """,
            id="flow style, and an anchor",
        ),
        pytest.param(
            """
              disruptionMode: >-   # one
                PodGroup

              # two
            """,
            """
              disruptionMode: {all: {}} # one

              # two
            """,
            id="a block scalar",
        ),
        pytest.param("  podGroupTemplateRef: null\n", "  workloadRef: null\n", id="no reference"),
    ],
)
def test_a_pod_group_of_v1alpha2(before: str, after: str) -> None:
    spec, want = (f"spec:\n{textwrap.indent(block(text), '  ') if text.startswith(chr(10)) else text}{POLICY}" for text in (before, after))

    assert HEAD_2_AFTER + want == text_of(migrate(HEAD_2 + spec))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
            spec:
              workloadRef:   # one
                # two
                name: train   # three
                podGroup: workers   # four
                # five
                podGroupReplicaKey: 'r0'
              containers: []
            """,
            """
            spec:
              schedulingGroup:   # one
                # two
                podGroupName: train-workers-r0   # three
                # four
                # five
              containers: []
            """,
            id="block style",
        ),
        pytest.param(
            """
            spec:
              workloadRef:
                podGroupReplicaKey: r0
                podGroup: workers
                name: "train"
            """,
            """
            spec:
              schedulingGroup:
                podGroupName: "train-workers-r0"
            """,
            id="another order",
        ),
        pytest.param(
            "spec: {workloadRef: {podGroup: workers, name: train, podGroupReplicaKey: r0}, containers: []}\n",
            "spec: {schedulingGroup: {podGroupName: train-workers-r0}, containers: []}\n",
            id="flow style",
        ),
        pytest.param(
            """
            spec: {containers: [],
              workloadRef: {
                name: train,
                podGroup: workers,
                podGroupReplicaKey: r0
              }
            }
            """,
            """
            spec: {containers: [],
              schedulingGroup: {
                podGroupName: train-workers-r0
              }
            }
            """,
            id="flow style over lines",
        ),
        pytest.param(
            """
            spec: {
              workloadRef: { # one
                podGroup: workers, # two
                name: train, # three
                podGroupReplicaKey: r0 # four
              }
            }
            """,
            """
            spec: {
              schedulingGroup: { # one
                 # two
                podGroupName: train-workers-r0, # three
                 # four
              }
            }
            """,
            id="flow style with comments",
        ),
        pytest.param(
            """
            spec:
              schedulingGroup: {podGroupName: mine}
              # one
              workloadRef:   # two
                name: train
                podGroup: workers   # three
              containers: []
            """,
            """
            spec:
              schedulingGroup: {podGroupName: mine}
              # one
              # two
              # three
              containers: []
            """,
            id="a pod that names a PodGroup already",
        ),
    ],
)
def test_a_pod(before: str, after: str) -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"

    assert head + block(after) == text_of(migrate(head + block(before)))
