"""Text of a migrated file: line ends, templates, and everything that keeps its bytes."""

from __future__ import annotations

import pytest

from tests.validators.migrate.migrating import CURRENT, GROUP, WORKLOAD, migrate, migrate_files, pod, text_of, together
from tests.validators.migrate.texts import HEAD, HEAD_AFTER


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
    ("text", "messages"),
    [
        pytest.param(GROUP.replace("spec:", "{{- if .Values.x }}\nspec:"), "this looks like a template: render it first", id="no YAML"),
        pytest.param(GROUP.replace("spec:", "# {{- if .Values.x }}\nspec:"), "this looks like a template: render it first", id="comments"),
        pytest.param(GROUP.replace("name: workers", 'name: "{{ .Values.x }}"'), "this looks like a template: render it first", id="names"),
    ],
)
def test_a_template_is_refused(text: str, messages: str) -> None:
    migration = migrate(text)

    assert migration.exit_status == 2
    assert messages in migration.refused[0].message
    assert text == text_of(migration)


def test_a_template_without_anything_to_migrate_is_left_alone() -> None:
    text = CURRENT.replace("spec:", "# {{- if .Values.x }}\nspec:")

    assert migrate_files({"a.yaml": text, "b.yaml": WORKLOAD}).exit_status == 0
