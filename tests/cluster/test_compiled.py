"""Output of ``muster compile`` and ``muster schema`` on a real API server: accepted, scheduled by kube-scheduler, enforced."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from kubeapi.versions import kubernetes_releases
from muster import cli
from tests.cluster.api import ApiError
from tests.cluster.resources import RESOURCES
from tests.cluster.take_effect import define
from tests.workloadbuilder.adapters.test_compiled import SAMPLES
from validators.rules import gang_nesting

CASE = Path(__file__).parents[1] / "cases" / "clusters" / "jobset"
GROUP = "blocks.muster.dev"
UNSAID = "<nil>"
"""Field of the cause that rules were not evaluated because the schema is violated."""


def printed(*arguments: str, stdin: str = "") -> str:
    answer = CliRunner().invoke(cli.main, list(arguments), input=stdin)
    assert answer.exit_code == 0, answer.stderr
    return answer.stdout


def options(plane):
    """Return those of ``muster compile`` that create the groups for the version of the API server."""
    return "--groups", f"--kubernetes={kubernetes_releases.name(plane.programs.minor())}"


@pytest.mark.usefixtures("kubelet")
def test_a_compiled_jobset_is_accepted_and_scheduled(plane, api, namespace, nodes):
    """Each gang of workers in one rack, the whole in one zone; only z2 has racks of four.  The driver is a gang where it must be one."""
    nodes(*yaml.safe_load_all((CASE / "cluster.yaml").read_text(encoding="utf-8")))
    manifests = (CASE / "jobset.yaml").read_text(encoding="utf-8").replace("namespace: default", f"namespace: {namespace}")
    if plane.programs.minor() >= gang_nesting.RULE.since:
        manifests = manifests.replace("parallelism: 1\n", "parallelism: 1\n          scheduling: {schedulingPolicy: {gang: {}}}\n")
    created = list(yaml.safe_load_all(printed("compile", *options(plane), "--pods", "-", stdin=manifests)))
    api.create_all(created)
    plane.start_scheduler()
    try:
        pods = api.wait_all("Pod", namespace, until=lambda result: all(each["spec"].get("nodeName") for each in result.values()))
    finally:
        plane.scheduler.stop()

    at = {name: pod["spec"]["nodeName"] for name, pod in pods.items()}
    assert 9 == len(at)
    assert at["train-driver-0-0"].startswith("z2-")
    racks = {
        frozenset(node.rpartition("-")[0] for name, node in at.items() if name.startswith(f"train-workers-{place}-")) for place in range(2)
    }
    assert {frozenset({"z2-r1"}), frozenset({"z2-r2"})} == racks


@pytest.mark.parametrize(("text", "further"), SAMPLES.values(), ids=SAMPLES)
def test_the_trees_of_all_kinds_are_accepted(plane, api, namespace, text, further):
    """The owners are not there, and need not be.  A tree that is an error for this version is refused by the API server."""
    documents = [each for each in yaml.safe_load_all(f"{text}\n---\n{further}") if each]
    for each in documents:
        if each["kind"] not in {"ClusterTrainingRuntime", "ClusterTopology"}:
            each["metadata"]["namespace"] = namespace
    manifests = yaml.safe_dump_all(documents)
    answer = CliRunner().invoke(cli.main, ["compile", *options(plane), "-"], input=manifests)
    is_error = answer.exit_code != 0
    created = list(yaml.safe_load_all(printed("compile", "--groups", "-", stdin=manifests) if is_error else answer.stdout))
    # No such class is there, and the API server looks for it.
    for each in created:
        _without_class([each["spec"]])

    if not is_error:
        api.create_all(created)
        return
    assert "must have `gang` scheduling policy" in answer.stderr
    with pytest.raises(ApiError, match='must have "gang" scheduling policy'):
        api.create_all(created)


def _without_class(templates):
    for each in templates or ():
        each.pop("priorityClassName", None)
        _without_class(each.get("podGroupTemplates"))
        _without_class(each.get("compositePodGroupTemplates"))


@pytest.fixture(scope="module")
def blocks(plane):
    """A kind that embeds every building block, each in a field of its name."""
    printed_blocks = yaml.safe_load(printed("schema", "--building-blocks", "--format", "openapi"))
    spec = {"type": "object", "properties": {name[0].lower() + name[1:]: block for name, block in printed_blocks.items()}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"embeds.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "embeds", "singular": "embed", "kind": "Embed"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(RESOURCES, "Embed", (f"{GROUP}/v1", "embeds", True))
        define(plane.api, definition, "Embed")
        yield
        plane.api.delete("CustomResourceDefinition", f"embeds.{GROUP}")


@pytest.mark.parametrize(
    ("block", "value", "want"),
    [
        pytest.param("workloadPodGroupSchedulingPolicy", {"gang": {"minCount": 2}}, [], id="a gang"),
        pytest.param("workloadPodGroupSchedulingPolicy", {"gang": {}}, [], id="an open minimum"),
        pytest.param("workloadPodGroupSchedulingPolicy", {"gang": {"minCount": 0}}, [".gang.minCount"], id="a minimum below one"),
        pytest.param("workloadPodGroupSchedulingPolicy", {"gang": {}, "basic": {}}, [""], id="both policies"),
        pytest.param("workloadCompositePodGroupSchedulingPolicy", {}, [""], id="no policy"),
        pytest.param("workloadPodGroupDisruptionMode", {"all": {}, "single": {}}, [""], id="both modes"),
        pytest.param(
            "workloadPodGroupSchedulingConstraints", {"topology": [{"key": "a/b"}, {"key": "a/c"}]}, [".topology"], id="two constraints"
        ),
        pytest.param("workloadPodGroupSchedulingConstraints", {"topology": [{"key": "a b"}]}, [".topology[0].key"], id="no label key"),
        pytest.param("workloadPodGroupResourceClaim", {"name": "a", "resourceClaimName": "b"}, [], id="a claim"),
        pytest.param("workloadPodGroupResourceClaim", {"name": "a"}, [""], id="a claim from nowhere"),
    ],
)
@pytest.mark.usefixtures("blocks")
def test_a_crd_that_embeds_the_blocks_enforces_them(api, namespace, block, value, want):
    embed = {"apiVersion": f"{GROUP}/v1", "kind": "Embed", "metadata": {"name": "e", "namespace": namespace}, "spec": {block: value}}
    if not want:
        api.create(embed)
        return
    with pytest.raises(ApiError) as refused:
        api.create(embed)

    assert [f"spec.{block}{each}" for each in want] == sorted({path for path, _, _ in refused.value.causes} - {UNSAID})
