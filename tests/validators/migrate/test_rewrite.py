"""The text of a migrated file: what changes does so where it stands, and everything else keeps its bytes."""

from __future__ import annotations

import textwrap

import pytest

from tests.validators.migrate.migrating import CURRENT, GROUP, WORKLOAD, migrate, migrate_files, pod, text_of, together

HEAD = "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\nmetadata: {name: train}\n"
HEAD_AFTER = HEAD.replace("v1alpha1", "v1beta1")
HEAD_2 = "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: workers}\n"
HEAD_2_AFTER = HEAD_2.replace("v1alpha2", "v1beta1")
POLICY = "  schedulingPolicy: {basic: {}}\n"


def block(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
            # before
            spec:   # one
              # two
              podGroups:   # three
              - name: a   # four
                # five
                policy:   # six
                  # seven
                  gang: {minCount: 2}   # eight

            # nine
            """,
            """
            # before
            spec:   # one
              # two
              podGroupTemplates:   # three
              - name: a   # four
                # five
                schedulingPolicy:   # six
                  # seven
                  gang: {minCount: 2}   # eight

            # nine
            """,
            id="comments and blanks stay",
        ),
        pytest.param(
            """
            spec:
                podGroups:
                    -   policy:
                            basic:   # one
                                # two
                                desiredCount: 3   # three
                                # four
                        name: a
            """,
            """
            spec:
                podGroupTemplates:
                    -   schedulingPolicy:
                            basic: {}   # one
                                # two
                                # three
                                # four
                        name: a
            """,
            id="a mapping that loses its only field keeps its comments",
        ),
        pytest.param(
            """
            spec: {podGroups: [{policy: {basic: {desiredCount: 3}}, name: a}, {name: b, policy: {basic: {}}}]}
            """,
            """
            spec: {podGroupTemplates: [{schedulingPolicy: {basic: {}}, name: a}, {name: b, schedulingPolicy: {basic: {}}}]}
            """,
            id="flow style",
        ),
        pytest.param(
            """
            "spec": {'podGroups': [{"name":"a","policy":{"gang":{"minCount":2}}}]}
            """,
            """
            "spec": {"podGroupTemplates": [{"name":"a","schedulingPolicy":{"gang":{"minCount":2}}}]}
            """.replace('"podGroupTemplates"', "'podGroupTemplates'"),
            id="quotes",
        ),
        pytest.param(
            """
            ? spec
            : ? podGroups
              : - ? name
                  : a
                  ? policy
                  : basic:
                      desiredCount: 3
            """,
            """
            ? spec
            : ? podGroupTemplates
              : - ? name
                  : a
                  ? schedulingPolicy
                  : basic: {}
            """,
            id="keys written with a question mark",
        ),
    ],
)
def test_a_workload_of_v1alpha1(before: str, after: str) -> None:
    assert HEAD_AFTER + block(after) == text_of(migrate(HEAD + block(before)))


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
            spec:
              podGroups:
              - name: a
                policy: {basic: &basic {desiredCount: 3}}
              - name: b
                policy:
                  basic: *basic
            """,
            """
            spec:
              podGroupTemplates:
              - name: a
                schedulingPolicy: {basic: &basic {}}
              - name: b
                schedulingPolicy:
                  basic: *basic
            """,
            id="an alias of what becomes empty",
        ),
        pytest.param(
            """
            spec:
              podGroups:
              - name: a
                policy:
                  basic: &basic  # one
                    desiredCount: 3
            """,
            """
            spec:
              podGroupTemplates:
              - name: a
                schedulingPolicy:
                  basic: &basic {}  # one
            """,
            id="an anchor of what becomes empty",
        ),
        pytest.param(
            """
            ? spec
            : podGroups:
              - name: a
                policy: {gang: {minCount: 2}}
            """,
            """
            ? spec
            : podGroupTemplates:
              - name: a
                schedulingPolicy: {gang: {minCount: 2}}
            """,
            id="a key in the line of a colon",
        ),
    ],
)
def test_odd_ways_to_write_a_workload(before: str, after: str) -> None:
    assert HEAD_AFTER + block(after) == text_of(migrate(HEAD + block(before)))


def test_two_groups_may_share_a_reference() -> None:
    reference = "podGroupTemplateRef: &ref {workload: {workloadName: w, podGroupTemplateName: t}}"
    before = LIST + item(HEAD_2 + f"spec:\n  {reference}\n{POLICY}") + item(HEAD_2 + f"spec:\n  podGroupTemplateRef: *ref\n{POLICY}")
    after = before.replace("v1alpha2", "v1beta1").replace(reference, "workloadRef: &ref {workloadName: w, templateName: t}")

    assert after.replace("podGroupTemplateRef: *ref", "workloadRef: *ref") == text_of(migrate(before))


def test_a_field_is_added_in_the_last_line_too() -> None:
    workload = HEAD + "spec:\n  podGroups:\n  - policy: {basic: {}}\n    name: workers"
    after = text_of(migrate_files({"a.yaml": workload, "b.yaml": pod("p", "nobody", more="  priorityClassName: high\n")}))

    assert after == HEAD_AFTER + (
        "spec:\n  podGroupTemplates:\n  - schedulingPolicy: {basic: {}}\n    name: workers\n    priorityClassName: high"
    )


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n# the end", "\n...\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_byte_order_mark_and_the_end_of_the_file_stay(end: str, newline: str, mark: str) -> None:
    before = (together(WORKLOAD, pod("p")).rstrip("\n") + end).replace("\n", newline)
    after = text_of(migrate(mark + before))
    rest = after.removeprefix(mark)

    assert after.startswith(mark)
    assert rest.endswith(end.replace("\n", newline))
    assert rest.endswith(("\n", "\r")) is before.endswith(("\n", "\r"))
    assert newline == "\r" or rest.count("\n") == rest.count(newline)
    assert "\r" in newline or "\r" not in rest


def test_a_field_that_was_the_last_line_leaves_no_line_end_behind() -> None:
    before = (
        pod("p").removesuffix("  containers: []\n").replace(" {name: train, podGroup: workers}", "\n    name: train\n    podGroup: workers")
    )

    assert text_of(migrate(before.rstrip("\n"))).endswith("\n    podGroupName: train-workers")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CURRENT, id="a current object"),
        pytest.param("# nothing\n", id="a comment"),
        pytest.param("", id="nothing at all"),
        pytest.param("a: [1,   2]\n", id="no object"),
        pytest.param("\ufeff---\r\n" + CURRENT + "...\r\n---\r\n\r\n", id="odd line ends"),
        pytest.param(
            together(CURRENT, pod("p").replace("  workloadRef: {name: train, podGroup: workers}\n", "")), id="a pod without a group"
        ),
    ],
)
def test_a_file_with_nothing_to_migrate_keeps_its_bytes(text: str) -> None:
    migration = migrate(text)

    assert (text, 0) == (text_of(migration), migration.exit_status)
    assert not migration.files[0].changed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(GROUP.replace("spec:", "{{- if .Values.x }}\nspec:"), "this looks like a template: render it first", id="no YAML"),
        pytest.param(GROUP.replace("spec:", "# {{- if .Values.x }}\nspec:"), "this looks like a template: render it first", id="comments"),
        pytest.param(GROUP.replace("name: workers", 'name: "{{ .Values.x }}"'), "this looks like a template: render it first", id="names"),
    ],
)
def test_a_template_is_refused(text: str, told: str) -> None:
    migration = migrate(text)

    assert migration.exit_status == 2
    assert told in migration.refused[0].message
    assert text == text_of(migration)


def test_a_template_without_anything_to_migrate_is_left_alone() -> None:
    text = CURRENT.replace("spec:", "# {{- if .Values.x }}\nspec:")

    assert migrate_files({"a.yaml": text, "b.yaml": WORKLOAD}).exit_status == 0
