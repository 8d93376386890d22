"""The control plane and the options of components as ``muster doctor --cluster`` sees them; commands for flags are run on an API server."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml

from kubeapi.versions.api_versions import CUSTOM
from kubeapi.versions.served_versions import resource
from tests.cluster.conftest import clean
from tests.cluster.control_plane import ControlPlane
from tests.cluster.custom_resources import KINDS, CustomApi, install
from tests.cluster.doctor_installation import PROVOKED_ELSEWHERE, Examined, demand_provoked, scheduler
from tests.cluster.groups import pod_group
from tests.cluster.installed import ACCOUNT, NAMESPACE
from tests.cluster.options import NO_GATES, Options
from tests.muster.doctor.worlds import control_plane

MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"


def test_options_that_differ_from_the_api_server(examined) -> None:
    for kind, env in (
        ("gates-differ", "MUSTER_GATES=WorkloadWithJob=false"),
        ("kubernetes-differs", "MUSTER_KUBERNETES=1.36"),
        ("review-seconds-long", "MUSTER_REQUEST_SECONDS=20"),
    ):
        examined.plane.kubectl("-n", NAMESPACE, "set", "env", f"deployment/{ACCOUNT}", env, check=True)
        examined.mend(examined.provoked(kind))
        examined.well()


def test_a_custom_resource_that_a_built_in_group_overrides(examined) -> None:
    """Equal ones are moved; of others the custom one is deleted, and the garbage collector lets go of what it owned."""
    api, namespace = examined.api, "kube-system"
    install(api)
    custom_api = CustomApi(examined.plane.kubeconfig)
    examined.plane.start_controllers(("garbage-collector-controller",))
    try:
        for name, minimum in (("equal", 2), ("other", 3)):
            # The webhooks, which nobody can call here, are not called for this namespace.
            custom_api.create(pod_group(name, namespace, minimum=minimum))
            api.create(pod_group(name, namespace, minimum=2))
            examined.mend(examined.provoked("object-ignored"))
            examined.well()
            assert not custom_api.exists("PodGroup", name, namespace)
            assert api.get("PodGroup", name, namespace)["spec"]["schedulingPolicy"]["gang"]["minCount"] == 2
    finally:
        examined.plane.controllers.stop()
        custom_api.close()
        clean(api, ("PodGroup",), namespace)
        for kind in KINDS:
            api.delete("CustomResourceDefinition", resource(kind, CUSTOM).rbac_name)


def test_an_old_scheduler(examined) -> None:
    old = scheduler("v1.36.2")
    examined.api.create(old)
    try:
        assert "kubeadm upgrade" in examined.provoked("scheduler-too-old")
    finally:
        examined.api.delete("Pod", old["metadata"]["name"], "kube-system", gracePeriodSeconds=0)


@contextlib.contextmanager
def without_kinds(examined, programs) -> Iterator[Examined]:
    """The webhooks on a control plane that does not serve the kinds."""
    with ControlPlane(Options(gates=NO_GATES, served=()), programs) as bare:
        bare.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        shipped = Examined(bare, examined.webhooks, examined.programs)
        shipped.apply(*(each for each in examined.webhooks.objects if each["kind"] not in ("Namespace", "Secret")), scheduler())
        bare.api.set_status("Deployment", ACCOUNT, NAMESPACE, status={"replicas": 3, "readyReplicas": 3})
        yield shipped


def test_a_hosted_control_plane_gets_custom_resources(examined, programs) -> None:
    with without_kinds(examined, programs) as shipped:
        found = shipped.findings()
        assert {"api-not-served"} == found.keys() - {"rights-missing"}
        (command,) = {each["command"] for each in found["api-not-served"]}
        shipped.mend(command)
        shipped.well()

        older = [{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/priority"}]
        shipped.api.patch("CustomResourceDefinition", "podgroups.scheduling.muster.dev", body=older, how="json")
        shipped.mend(shipped.provoked("definitions-differ"))
        shipped.well()


def test_a_control_plane_without_the_kinds(examined, programs) -> None:
    with without_kinds(examined, programs) as shipped:
        bare = shipped.plane
        shipped.apply(control_plane("kube-apiserver", "v1.37.1"))
        found = shipped.findings()
        assert {"api-not-served", "gate-off", "gates-differ"} == found.keys() - {"rights-missing"}
        missing = {each["message"].split()[6] for each in found["api-not-served"]}
        assert missing == {"compositepodgroups", "podgroups", "workloads"}

        commands = [each["command"] for check in ("api-not-served", "gate-off") for each in found[check]]
        bare.options = dataclasses.replace(bare.options, apiserver_flags=flags_after(commands, bare.folder))
        bare.restart_apiserver()
        # Muster assumes gates that are off by default, and that it does not need.
        for each in shipped.findings()["gates-differ"]:
            shipped.mend(each["command"])
        shipped.well()


def flags_after(commands: list[str], folder: Path) -> tuple[str, ...]:
    """Run the commands on a manifest of kube-apiserver, as kubeadm writes it; return the flags that they add."""
    manifest = folder / "kube-apiserver.yaml"
    container = {"command": ["kube-apiserver", "--secure-port=6443"], "image": "registry.k8s.io/kube-apiserver:v1.37.1"}
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kube-apiserver"}, "spec": {"containers": [container]}}
    manifest.write_text(yaml.safe_dump(content), encoding="utf-8")
    for each in commands:
        sudo, _, command = each.partition(" ")
        assert (sudo, command.count(MANIFEST)) == ("sudo", 1)
        subprocess.run(command.replace(MANIFEST, str(manifest)), shell=True, check=True)
    (changed,) = yaml.safe_load(manifest.read_text(encoding="utf-8"))["spec"]["containers"]
    program, *flags, port = changed["command"]
    assert [program, port] == container["command"]
    assert container["image"] == changed["image"]
    return tuple(flags)


def test_every_check_is_provoked(examined, request) -> None:
    demand_provoked(request, PROVOKED_ELSEWHERE["control plane"])
