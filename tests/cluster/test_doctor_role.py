"""The role of docs/operate/doctor.md: each of its grants is needed, and they are enough."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from tests.cluster.examined import examination
from tests.cluster.installed import DEPLOY

PAGE = DEPLOY.parent / "docs" / "operate" / "doctor.md"


@pytest.fixture(scope="module")
def examined(plane, tmp_path_factory):
    with examination(plane, tmp_path_factory.mktemp("installed")) as result:
        yield result


def test_the_role_of_the_page_is_enough_and_needed(examined) -> None:
    (block,) = (
        each for each in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if "kind: ClusterRole\n" in each
    )
    (role,) = yaml.safe_load_all(block)
    allowed = examined.plane.user("doctor", role["rules"])
    assert json.loads(examined.doctor(kubeconfig=allowed).stdout) == json.loads(examined.doctor().stdout)
    nobody = examined.plane.write_kubeconfig("nobody")
    answer = examined.doctor(kubeconfig=nobody)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "cannot list resource" in answer.stderr
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        examined.api.delete(kind, "doctor")
