"""The extension for Visual Studio Code: in a real editor with a real server, and its package."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

from tests.editors import assets, code_server

MUSTER = str(Path(sys.executable).parent / "muster")
ROOT = Path(__file__).parents[2]
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: main, image: registry.example/train:1}]
  schedulingGroup: {podGroupName: worker}
"""


@pytest.fixture
def folder(tmp_path):
    result = tmp_path / "folder"
    result.mkdir()
    for name, text in (("group.yaml", GROUP), ("pod.yaml", POD)):
        (result / name).write_text(text, encoding="utf-8")
    return result


def test_findings_and_completion_in_the_editor(tmp_path, folder):
    """A finding of a reference to another file; keys of the schema; the name of an object of that file, which is accepted."""
    with code_server.running(tmp_path / "home", folder, **{"muster.path": MUSTER}) as page:
        page.open("pod.yaml")
        page.until(".squiggly-error")

        page.type_at_end("  pri")
        assert {"priority", "priorityClassName"} <= {*page.suggestions()}
        page.dismiss()
        page.type_at_end("orityClassName: ")
        assert "high" == page.suggestions()[0]
        page.accept()
        assert page.text().rstrip().endswith("priorityClassName: high")

        (problem,) = [each for each in page.problems() if "podGroupName" in each]
        assert 'Not found: "worker": there must be a PodGroup of this name in namespace default' in problem


def test_a_program_that_is_missing_is_reported_with_the_remedy(tmp_path, folder):
    with code_server.running(tmp_path / "home", folder, **{"muster.path": "/nowhere/muster"}) as page:
        page.open("pod.yaml")

        (message,) = [each for each in page.labels(".notification-list-item-message") if "/nowhere/muster" in each]
        assert "/nowhere/muster lsp does not start: " in message
        assert "Install it (pip install 'muster-scheduling[editor]', in a checkout pip install '.[editor]'), or set muster.path." in message


def test_the_package_has_what_the_extension_needs():
    try:
        package = assets.package()
    except assets.MissingError as error:
        pytest.skip(str(error))
    with zipfile.ZipFile(package) as archive:
        names = {*archive.namelist()}
    lock = json.loads((assets.EXTENSION / "package-lock.json").read_text(encoding="utf-8"))

    for name in lock["packages"]:
        assert f"extension/{name}/package.json".replace("//", "/") in names
    assert {"extension/extension.js", "extension/LICENSE.txt"} <= names
    assert not [each for each in names if each.endswith((".ts", ".map", "package-lock.json"))]


def test_the_lock_file_names_no_registry():
    text = (assets.EXTENSION / "package-lock.json").read_text(encoding="utf-8")

    assert re.findall(r"https?://\S+", text.replace('"url": "https://github.com/', "")) == []
    assert all(each.get("integrity", "").startswith("sha512-") for name, each in json.loads(text)["packages"].items() if name)


def test_settings_are_documented():
    """The README has every setting with its default, and the version is that of the project."""
    manifest = json.loads((assets.EXTENSION / "package.json").read_text(encoding="utf-8"))
    readme = (assets.EXTENSION / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(muster\.[^`]*)` \| `([^`]*)` \|", readme, re.MULTILINE))

    properties = manifest["contributes"]["configuration"]["properties"]
    defaults = {name: each["default"] for name, each in properties.items()}
    assert rows == {name: value if isinstance(value, str) else json.dumps(value) for name, value in defaults.items()}
    assert f'version = "{manifest["version"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
