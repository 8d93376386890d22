"""A control plane without the built-in kinds is upgraded, and its groups are moved by the commands of docs/operate/move-to-built-in.md.

The sidecar places groups before, meanwhile and after, of both API groups; pods that run stay.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import VERSION, WITHOUT_KINDS, CustomApi, install
from tests.cluster.groups import pod_group
from tests.cluster.kubelet import Kubelet, node, pod
from tests.cluster.options import Options
from tests.cluster.page_shell import Shell, section
from tests.cluster.programs import Programs, of
from tests.cluster.resources import Manifest
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until
from tests.docs import pages

PAGE = pages.DOCS / "operate" / "move-to-built-in.md"
OLD = "1.34"
LABEL = "scheduling.muster.dev/pod-group"


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(WITHOUT_KINDS, available(lambda: of(OLD))) as started:
        install(started.api)
        started.start_controllers(("garbage-collector-controller",))
        yield started


def upgrade(plane: ControlPlane, programs: Programs) -> None:
    """Start the newer version with what the older one has stored."""
    plane.controllers.stop()
    plane.programs, plane.options = programs, Options()
    plane.restart_apiserver()
    plane.start_controllers(("garbage-collector-controller",))


def gang(name: str, namespace: str) -> list[Manifest]:
    return [
        pod_group(name, namespace, minimum=2),
        *(pod(f"{name}-{number}", namespace, group=name, spec={"schedulerName": "muster"}) for number in range(2)),
    ]


def commands(name: str) -> list[str]:
    """Return the lines of the shell in a section of the page."""
    return [line for block in section(name, PAGE) for line in block.text.splitlines()]


def placed(plane: ControlPlane, name: str, namespace: str) -> bool:
    return all(plane.api.get("Pod", f"{name}-{number}", namespace)["spec"].get("nodeName") for number in range(2))


def test_groups_move_under_running_pods(plane: ControlPlane, programs: Programs, tmp_path) -> None:
    namespace = "default"
    shell = Shell(plane, tmp_path)
    custom = CustomApi(plane.kubeconfig)
    plane.api.create_all([node("n1"), node("n2")])
    with Kubelet(plane.api), sidecar(plane, tmp_path, "--mode", "place", "--lease", "none"):
        custom.create_all(gang("before", namespace))
        until(lambda: placed(plane, "before", namespace))
        uids = [plane.api.get("Pod", f"before-{number}", namespace)["metadata"]["uid"] for number in range(2)]
        upgrade(plane, programs)
        for line in commands("Upgrade the control plane"):
            until(lambda line=line: shell(line).returncode == 0)
        custom.create_all(gang("between", namespace))
        until(lambda: placed(plane, "between", namespace))

        dry, move = commands("Move the objects")
        assert "would be created" in shell.run(dry)
        told = shell.run(move)
        assert f"PodGroup {namespace}/before: 2 pods only have the label {LABEL}: kube-scheduler does not count them as members" in told
        assert told.endswith("2 of 2 custom resources moved\n")
        until(lambda: "No resources found" in shell.run(f"{commands('Remove the definitions')[0]} 2>&1"))
        for name in ("before", "between"):
            moved = plane.api.get("PodGroup", name, namespace)
            conditions = {each["type"]: each["status"] for each in moved["status"]["conditions"]}
            assert conditions["PodGroupInitiallyScheduled"] == "True"
        after = [plane.api.get("Pod", f"before-{number}", namespace) for number in range(2)]
        assert [each["metadata"]["uid"] for each in after] == uids
        assert all(each["metadata"]["labels"][LABEL] == "before" for each in after)

        plane.api.create_all(gang("after", namespace))
        until(lambda: placed(plane, "after", namespace))


def test_manifests_are_migrated_as_the_page_says(plane: ControlPlane, tmp_path) -> None:
    shell = Shell(plane, tmp_path)
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    text = f"apiVersion: {VERSION}\nkind: PodGroup\nmetadata: {{name: workers}}\nspec: {{schedulingPolicy: {{basic: {{}}}}}}\n"
    (manifests / "group.yaml").write_text(text, encoding="utf-8")
    (line,) = commands("New pods")
    shell.run(line, tmp_path)

    assert (manifests / "group.yaml").read_text(encoding="utf-8") == text.replace("muster.dev", "k8s.io")
    shutil.rmtree(manifests)
