"""The demonstration's installation: what is laid out for it, before there is a cluster."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
import yaml

from muster.commands.demo import cluster_demo, installation


@pytest.fixture
def desk(tmp_path):
    installation._copy_manifests(tmp_path / "desk")
    return tmp_path / "desk"


def test_every_file_that_a_command_names_is_there(desk):
    named = re.findall(r"-f ([\w-]+\.yaml)", Path(cluster_demo.__file__).read_text(encoding="utf-8"))

    assert len(named) > 5
    assert [] == [name for name in named if not (desk / name).is_file()]


def test_what_is_applied_at_once_is_all_that_its_kustomization_names(desk):
    (kustomization,) = desk.glob("deploy/kustomization.yaml")

    wanted = {*yaml.safe_load(kustomization.read_text(encoding="utf-8"))["resources"], kustomization.name}
    assert wanted == {each.name for each in (desk / "deploy").iterdir()}


def test_webhooks_are_called_by_url_and_are_else_as_they_are_shipped():
    shipped = list(yaml.safe_load_all((installation.HERE / "webhooks.yaml").read_text(encoding="utf-8")))
    made = json.loads(installation._by_url("https://127.0.0.1:1", b"authority"))["items"]
    clients = [each.pop("clientConfig") for configuration in made for each in configuration["webhooks"]]
    paths = [each.pop("clientConfig")["service"]["path"] for configuration in shipped for each in configuration["webhooks"]]

    assert shipped == made
    authority = base64.b64encode(b"authority").decode()
    assert [{"url": f"https://127.0.0.1:1{path}", "caBundle": authority} for path in paths] == clients


def test_pods_of_the_demonstration_are_for_the_sidecar(desk):
    files = ("training.yaml", "evaluation.yaml", "labelling.yaml", "mended.yaml", "sweep.yaml")
    pods = [each for name in files for each in yaml.safe_load_all((desk / name).read_text(encoding="utf-8")) if each["kind"] == "Pod"]

    assert 17 == len(pods)
    assert {"muster"} == {pod["spec"]["schedulerName"] for pod in pods}
