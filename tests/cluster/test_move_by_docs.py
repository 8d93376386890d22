"""A control plane without the built-in kinds is upgraded, and its groups are moved by the commands of docs/operate/move-to-built-in.md.

The sidecar places groups before, meanwhile and after, of both API groups; pods that run stay.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from apiserver.watch import UNSERVED_WAIT
from kubeapi.groups import INITIALLY_SCHEDULED, PROTECTION_FINALIZERS
from tests.cluster.conftest import available
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import VERSION, WITHOUT_KINDS, CustomApi, install
from tests.cluster.groups import composite, pod_group
from tests.cluster.kubelet import Kubelet, node, pod
from tests.cluster.options import Options
from tests.cluster.page_shell import Shell, section
from tests.cluster.programs import Programs, of
from tests.cluster.resources import Manifest
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import WAIT_SECONDS, until
from tests.docs import pages

PAGE = pages.DOCS / "operate" / "move-to-built-in.md"
OLD = "1.30"
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


def tree(namespace: str) -> list[Manifest]:
    """Return a composite of two gangs with one pod each."""
    leaves = ("left", "right")
    return [
        composite("top", namespace, minimum=2),
        *(pod_group(name, namespace, minimum=1, parent="top") for name in leaves),
        *(pod(f"{name}-0", namespace, group=name, spec={"schedulerName": "muster"}) for name in leaves),
    ]


def test_groups_move_under_running_pods(plane: ControlPlane, programs: Programs, tmp_path) -> None:
    """A gang of the old version, and a tree; the sidecar protects them by finalizers all the time."""
    namespace = "default"
    shell = Shell(plane, tmp_path)
    custom = CustomApi(plane.kubeconfig)
    plane.api.create_all([node("n1"), node("n2")])
    options = ("--mode", "place,protect", "--lease", "none")
    with Kubelet(plane.api), sidecar(plane, tmp_path, *options):
        custom.create_all(gang("before", namespace))
        until(lambda: placed(plane, "before", namespace))
        uids = [plane.api.get("Pod", f"before-{number}", namespace)["metadata"]["uid"] for number in range(2)]
        upgrade(plane, programs)
        for line in commands("Upgrade the control plane"):
            until(lambda line=line: shell(line).returncode == 0)
        # The sidecar has seen the built-in kinds when it places one.
        plane.api.create_all(gang("between", namespace))
        until(lambda: placed(plane, "between", namespace), seconds=UNSERVED_WAIT + WAIT_SECONDS)
        custom.create_all(tree(namespace))
        members = ("left-0", "right-0")
        until(lambda: all(plane.api.get("Pod", each, namespace)["spec"].get("nodeName") for each in members))
        moved = {"CompositePodGroup": ("top",), "PodGroup": ("before", "left", "right")}
        every = [(kind, name) for kind, names in moved.items() for name in names]
        until(lambda: all(custom.get(kind, name, namespace)["metadata"].get("finalizers") for kind, name in every))

        dry, move = commands("Move the objects")
        assert "would be created" in shell.run(dry)
        told = shell.run(move)
        assert f"PodGroup {namespace}/before: 2 pods only have the label {LABEL}: kube-scheduler does not count them as members" in told
        assert told.endswith("4 of 4 custom resources moved\n")
        until(lambda: "No resources found" in shell.run(f"{commands('Remove the definitions')[0]} 2>&1"))
        for kind, name in every:
            conditions = {each["type"]: each["status"] for each in plane.api.get(kind, name, namespace)["status"]["conditions"]}
            assert conditions[INITIALLY_SCHEDULED[kind]] == "True"
        until(lambda: all(PROTECTION_FINALIZERS[kind] in finalizers(plane, kind, name) for kind, name in every))
        after = [plane.api.get("Pod", f"before-{number}", namespace) for number in range(2)]
        assert [each["metadata"]["uid"] for each in after] == uids
        assert all(each["metadata"]["labels"][LABEL] == "before" for each in after)

        plane.api.create_all(gang("after", namespace))
        until(lambda: placed(plane, "after", namespace))


def finalizers(plane: ControlPlane, kind: str, name: str) -> list[str]:
    return plane.api.get(kind, name, "default")["metadata"].get("finalizers") or []


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
