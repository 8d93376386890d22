"""Definitions of custom resources that the chart installs, and its notes, with definitions of something else in the cluster."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy import rendered

KINDS = ("Workload", "PodGroup", "CompositePodGroup")
BUILT_IN = tuple(f"scheduling.k8s.io/{version}/{kind}" for kind, version in zip(KINDS, ("v1beta1", "v1beta1", "v1alpha3"), strict=True))
NAME = '(printf "%ss.scheduling.muster.dev" (lower $kind))'
LOOKUP = f'lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" {NAME}'
Render = Callable[..., tuple[list[str], str]]


def definition(kind: str, release: str) -> tuple[str, dict[str, Any]]:
    owner = {"meta.helm.sh/release-namespace": rendered.NAMESPACE, "meta.helm.sh/release-name": release}
    return f"{kind.lower()}s.scheduling.muster.dev", {"metadata": {"annotations": owner}}


@pytest.fixture
def render(tmp_path: Path, helm: Path) -> Render:
    """Return a function that renders the chart for a cluster: kinds of its definitions by release, and what it serves.

    It returns the kinds of the definitions of the chart, and the notes.  Without a cluster, helm finds no object and renders no notes.
    """
    chart = tmp_path / "chart"
    shutil.copytree(rendered.CHART, chart)
    (chart / "values.schema.json").unlink()
    helpers, notes = chart / "templates/_helpers.tpl", chart / "templates/NOTES.txt"
    text = helpers.read_text(encoding="utf-8")
    assert text.count(LOOKUP) == 1
    helpers.write_text(text.replace(LOOKUP, f"dig {NAME} (dict) ($.Values.definitions | default dict)"), encoding="utf-8")
    lines = "".join(f"  {line}" for line in notes.read_text(encoding="utf-8").splitlines(keepends=True))
    (chart / "templates/notes.yaml").write_text(f"kind: Notes\nnotes: |\n{lines}", encoding="utf-8")

    def run(api: str, served: Iterable[str], releases: dict[str, str]) -> tuple[list[str], str]:
        known = json.dumps(dict(definition(kind, release) for kind, release in releases.items()))
        versions = (part for each in served for part in ("--api-versions", each))
        command = [helm, "template", "muster", chart, "--namespace", rendered.NAMESPACE, "--set", f"api={api}"]
        done = subprocess.run(
            [*command, "--set-json", f"definitions={known}", *versions],
            capture_output=True,
            text=True,
            check=False,
            timeout=rendered.SECONDS,
        )
        assert done.returncode == 0, done.stderr
        found = [each for each in yaml.safe_load_all(done.stdout) if each]
        (notes,) = (each["notes"] for each in found if each["kind"] == "Notes")
        return [each["spec"]["names"]["kind"] for each in found if each["kind"] == "CustomResourceDefinition"], notes

    return run


def test_without_the_composite_kind_all_three_definitions_are_installed(render: Render) -> None:
    found, notes = render("auto", BUILT_IN[:2], {})

    assert {*found} == {*KINDS}
    assert "PodGroup: built-in kind of scheduling.k8s.io; custom resource of scheduling.muster.dev, defined by this release\n" in notes
    assert "CompositePodGroup: custom resource of scheduling.muster.dev, defined by this release\n" in notes


@pytest.mark.parametrize("served", [(), BUILT_IN])
def test_a_definition_that_is_missing_among_foreign_ones_is_installed(render: Render, served: tuple[str, ...]) -> None:
    found, notes = render("auto", served, {"Workload": "other", "PodGroup": "other"})

    assert found == ["CompositePodGroup"]
    assert "This release does not upgrade the definitions of Workload, PodGroup:" in notes


def test_foreign_definitions_are_left_alone(render: Render) -> None:
    found, notes = render("auto", (), dict.fromkeys(KINDS, "other"))

    assert found == []
    assert "PodGroup: custom resource of scheduling.muster.dev, whose definition does not belong to this release\n" in notes


def test_a_release_keeps_its_definitions(render: Render) -> None:
    assert {*render("auto", BUILT_IN, dict.fromkeys(KINDS, "muster"))[0]} == {*KINDS}


def test_the_notes_say_that_nothing_serves_the_kinds(render: Render) -> None:
    found, notes = render("kubernetes", (), {})

    assert found == []
    assert "  Workload: the API server does not serve it\n" in notes
    assert "Objects of Workload, PodGroup, CompositePodGroup cannot be created: set api to auto or custom" in notes


def test_the_notes_about_built_in_kinds_name_no_other_api(render: Render) -> None:
    found, notes = render("auto", BUILT_IN, {})

    assert found == []
    assert "scheduling.muster.dev" not in notes
    assert "cannot be created" not in notes
