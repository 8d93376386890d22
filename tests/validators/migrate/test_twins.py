"""Objects that a migration would move to where the inputs have one of the same name, and names that only one API group can have."""

from __future__ import annotations

import json

import pytest

from tests.validators.migrate.migrating import migrate, migrate_files, text_of, together

CUSTOM, BUILT_IN = "scheduling.muster.dev", "scheduling.k8s.io"
GROUP = """\
# of {group}
apiVersion: {group}/v1beta1
kind: PodGroup
metadata: {{name: workers}}
spec: {{schedulingPolicy: {{basic: {{}}}}}}
"""
IN_CUSTOM, IN_BUILT_IN = GROUP.format(group=CUSTOM), GROUP.format(group=BUILT_IN)
OTHER = IN_CUSTOM.replace("basic: {}", "gang: {minCount: 2}")
LABELLED = IN_CUSTOM.replace("{name: workers}", "{name: workers, labels: {team: a}}")
AS_JSON = json.dumps(
    {"apiVersion": f"{CUSTOM}/v1beta1", "kind": "PodGroup", "metadata": {"name": "workers"}, "spec": {"schedulingPolicy": {"basic": {}}}}
)


@pytest.mark.parametrize(
    ("texts", "to", "after"),
    [
        pytest.param((IN_CUSTOM, IN_BUILT_IN), BUILT_IN, "---\n" + IN_BUILT_IN, id="the custom one first"),
        pytest.param((IN_BUILT_IN, IN_CUSTOM), BUILT_IN, IN_BUILT_IN, id="the custom one last"),
        pytest.param((IN_CUSTOM, IN_BUILT_IN), CUSTOM, IN_CUSTOM, id="to the custom group"),
        pytest.param(
            (IN_CUSTOM, IN_BUILT_IN.replace("workers}", "workers, namespace: default}")),
            BUILT_IN,
            "---\n" + IN_BUILT_IN.replace("workers}", "workers, namespace: default}"),
            id="the default namespace",
        ),
    ],
)
def test_of_two_equal_objects_one_is_written(texts: tuple[str, ...], to: str, after: str) -> None:
    migration = migrate(*texts, to=f"{to}/v1beta1")

    assert (migration.exit_status, text_of(migration)) == (0, after)
    (note,) = migration.notes
    assert note.message.startswith(f"this object is left out: a.yaml:{8 if note.spot.line < 6 else 2} has the same one in {to}")


@pytest.mark.parametrize("custom", [pytest.param(OTHER, id="another spec"), pytest.param(LABELLED, id="another label")])
def test_of_two_objects_that_differ_none_is_moved(custom: str) -> None:
    migration = migrate(custom, IN_BUILT_IN, to=f"{BUILT_IN}/v1beta1")

    assert (migration.exit_status, text_of(migration)) == (1, together(custom, IN_BUILT_IN))
    (loss,) = migration.losses
    assert (loss.spot.line, loss.spot.field) == (4, "metadata.name")
    assert loss.lost == f"the whole object: PodGroup workers stays in {CUSTOM}"
    assert loss.meant.startswith(f"a.yaml:8 has another object of this kind and name in {BUILT_IN}")


def test_twins_of_two_files_are_found() -> None:
    """A JSON value is not taken out of its text."""
    migration = migrate_files({"a.json": AS_JSON, "b.yaml": IN_BUILT_IN}, f"{BUILT_IN}/v1beta1")

    assert migration.exit_status == 1
    assert [each.after for each in migration.files] == [AS_JSON.encode(), IN_BUILT_IN.encode()]
    assert migration.losses[0].meant.startswith("b.yaml:2 has the same object of this kind and name")


def test_other_namespaces_and_kinds_are_no_twins() -> None:
    elsewhere = IN_BUILT_IN.replace("workers}", "workers, namespace: other}")
    migration = migrate(IN_CUSTOM, elsewhere, to=f"{BUILT_IN}/v1beta1")

    assert (migration.exit_status, migration.notes) == (0, ())
    assert len(migration.migrated) == 1


def test_a_built_in_group_can_have_a_longer_name() -> None:
    """No custom resource can have it, but a manifest of one is not refused for that."""
    long = IN_CUSTOM.replace("workers", "w" * 64)
    migration = migrate(long, to=f"{BUILT_IN}/v1beta1")

    assert (migration.refused, migration.exit_status) == ((), 0)
    assert text_of(migration) == long.replace(f"apiVersion: {CUSTOM}", f"apiVersion: {BUILT_IN}")
    assert migrate(long, to=f"{CUSTOM}/v1beta1").losses == ()


@pytest.mark.parametrize(("group", "names_kubernetes"), [(CUSTOM, False), (BUILT_IN, True)])
def test_only_built_in_versions_are_those_of_kubernetes(group: str, names_kubernetes: bool) -> None:
    (loss,) = migrate(IN_CUSTOM.replace(f"{CUSTOM}/v1beta1", f"{group}/v1"), to=f"{BUILT_IN}/v1beta1").losses
    (refused,) = migrate(
        GROUP.format(group=BUILT_IN if group == CUSTOM else CUSTOM).replace("basic: {}", ""), to=f"{group}/v1beta1"
    ).refused

    assert ("Kubernetes" in loss.meant) is names_kubernetes
    assert ("would not be valid in Kubernetes" in refused.message) is names_kubernetes
    assert ("would not be valid in scheduling.muster.dev/v1beta1" in refused.message) is not names_kubernetes


def test_an_object_without_a_kind_is_no_twin() -> None:
    nameless = IN_BUILT_IN.replace("kind: PodGroup\n", "")
    migration = migrate(IN_CUSTOM, nameless, to=f"{BUILT_IN}/v1beta1")

    assert (migration.exit_status, migration.notes) == (0, ())
