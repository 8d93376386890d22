"""``muster compile``: Workloads, groups and pods created from the objects of controllers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import kubernetes_releases, served_versions
from kubeapi.versions.api_versions import CUSTOM, SCHEDULING
from muster import standard_output
from muster.commands import options, pod_creation
from muster.commands.described_nodes.description_syntax import EXAMPLE, NODES, SAVE
from muster.commands.progress import Progress
from validators import rule_options
from validators.options import one_of

if TYPE_CHECKING:
    from muster.commands.compile.compilation import Run
    from muster.commands.described_nodes.description_syntax import NodeDescription
    from workloadbuilder.adapters.shared.known_objects import DeclaredTemplate

FORMATS = ("yaml", "json")
KUBERNETES = kubernetes_releases.names(served_versions.served_since("Workload"))
"""Minor versions that serve the created objects, by name."""
_NODES_HELP = f"Further nodes to look up, such as '{EXAMPLE}' (repeatable): with --pods, DaemonSets have a pod on each that they select."


@click.command(
    "compile",
    short_help="Create the Workloads and groups of Jobs, JobSets, LeaderWorkerSets and more.",
    epilog="Example: muster compile --groups --pods jobset.yaml | muster simulate - --objects cluster.yaml",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="yaml",
    show_default=True,
    help="yaml: a stream of documents; json: one List that also contains the report.",
)
@click.option("--groups", is_flag=True, help="Also create the CompositePodGroups and PodGroups of the templates.")
@click.option("--pods", is_flag=True, help="Also create the pods that the controllers would create, with their groups.")
@click.option("--delegated", is_flag=True, help="Create child Jobs with linkage annotations; their controllers create the PodGroups.")
@click.option(
    "--build",
    is_flag=True,
    help="Create what mode build of the sidecar creates for each object: Workload and groups, with their labels and annotations. "
    "An object that has no group becomes one gang, and groups without a policy are gangs.",
)
@click.option("--explain", is_flag=True, help="Report the source of each block of a template: default, user or callback.")
@click.option(
    "--api",
    type=click.Choice(served_versions.groups_of("Workload")),
    default=SCHEDULING,
    show_default=True,
    help=f"API group of Workloads and groups. Pods name a PodGroup of {CUSTOM} by their label {POD_GROUP_LABEL}.",
)
@click.option(
    "--version",
    "version",
    type=click.Choice(served_versions.WORKLOAD_VERSIONS),
    default=served_versions.hub_of("Workload").version,
    show_default=True,
    help="API version of Workloads and PodGroups.",
)
@options.click_option(
    dataclasses.replace(rule_options.KUBERNETES, type=one_of(tuple(KUBERNETES), KUBERNETES.__getitem__)),
    text="Version of Kubernetes that the created objects are for.",
    default=rule_options.KUBERNETES.default,
)
@click.option(
    "--objects",
    multiple=True,
    metavar="PATH",
    help="Further objects to look up: runtimes, topologies, pods, Workloads of parents (repeatable).",
)
@options.click_option(NODES, text=_NODES_HELP)
@options.click_option(SAVE)
@pod_creation.levels
@options.click_option(pod_creation.POD_TEMPLATE)
def compile_(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    form: str,
    groups: bool,
    pods: bool,
    delegated: bool,
    build: bool,
    explain: bool,
    api: str,
    version: str,
    kubernetes: int,
    objects: tuple[str, ...],
    nodes: tuple[NodeDescription, ...],
    save: str | None,
    levels: dict[str, str],
    pod_template: Mapping[str, tuple[DeclaredTemplate, ...]],
) -> int:
    """Compile the objects at PATH (files, directories, - for standard input): write the Workload of each to standard output.

    Supported kinds: Jobs, JobSets (scheduling in the Job templates, or in replicatedJobPolicies at the root), LeaderWorkerSets,
    TrainJobs (with their runtime in PATH or --objects) and CronJobs (their next Job). PodGroups of Volcano, scheduler-plugins and
    KAI, Volcano's Jobs, Grove's PodCliqueSets, Kubeflow's MPIJobs, PyTorchJobs, TFJobs, XGBoostJobs, PaddleJobs and JAXJobs,
    RayClusters, RayJobs, RayServices, AppWrappers, LLMInferenceServices and Kueue's topology annotations are compiled too, with a list
    of what is lost. Pods of Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, InferenceServices and Workflows
    of Argo have no group, nor have those of SparkApplications without a batch scheduler: only --pods creates them. Objects of other
    kinds that create pods are skipped and reported; --pod-template says where their pods are.

    Annotations of an object stand for the building blocks that its API does not have: muster.dev/topology (key of a node label),
    muster.dev/min-count (minimum of the gang), muster.dev/disruption-mode (single or all).

    Errors, warnings and losses are written to standard error, with file and line of the field; --format json also has them in
    the output. The order of the inputs does not change the output. If an object has a uid, names are those of the
    controllers of --kubernetes. Without a uid, a Workload has the name of its owner, and a group is named WORKLOAD-TEMPLATE[-INDEX];
    where objects of two kinds would have the same names, one of them has a hash in its names.

    Exit status: 0 everything was compiled, 1 something was refused (see standard error; the rest is compiled), 2 something
    could not be read, there is nothing to compile, or the command line is wrong, 3 both 1 and 2.
    """
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    if delegated and pods:
        raise click.UsageError("--delegated and --pods exclude each other: with --delegated, the child Jobs create the pods")
    if delegated and build:
        raise click.UsageError("--build and --delegated exclude each other: mode build creates all groups itself")
    api_version = served_versions.named(api, version)
    if served_versions.find(api_version, "Workload") is None:
        raise click.UsageError(f"--version: {api} has no version {version}")
    if delegated and served_versions.form_of(api_version).custom:
        raise click.UsageError(f"--delegated and --api {api} exclude each other: the Job controller creates no PodGroups of this API group")
    from muster.commands.compile import built_objects, compilation, sources
    from muster.commands.described_nodes.node_manifests import DescribedNodes
    from workloadbuilder.adapters.compiled import CompileOptions, compile_object

    compile_options = CompileOptions(groups=groups, pods=pods, delegated=delegated, version=version, api=api)
    progress = Progress("compile")
    try:
        inputs = sources.read_compile_inputs(
            paths, objects, DescribedNodes(nodes, save, "compile"), levels, dict(pod_template), kubernetes, progress
        )
        run = compilation.run(inputs, compile_options, progress, built_objects.planner(inputs) if build else compile_object)
    finally:
        progress.end()
    _write(run, form, explain=explain)
    return run.exit_status


def _write(run: Run, form: str, *, explain: bool) -> None:
    from muster.commands.compile import report

    if form == "json":
        from muster.commands.compile import json_output

        text = json_output.render(run, explain=explain)
    else:
        from muster.commands.compile import yaml_output

        text = yaml_output.render(run, explain=explain)
    # UTF-8 whatever the locale: names can be in any script, and JSON is UTF-8.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
    for line in report.report(run):
        standard_output.report(line)
