"""``muster demo --cluster``: the webhooks and the sidecar at work on a real API server.

It starts a control plane, installs everything as on a cluster, and removes all at the end.  The commands shown are run, and
their output is kubectl's; an ellipsis marks omitted lines.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kubeapi.pods import POD_GROUP_LABEL
from muster.commands.demo import local_control_plane
from muster.commands.demo.child_processes import Shell
from muster.commands.demo.terminal import Stage

_LABEL = POD_GROUP_LABEL.replace(".", "\\.")
REASONS = "-o=custom-columns='POD:.metadata.name,WHY:.status.conditions[*].message'"
CREATED = "-o=custom-columns=OBJECT:.involvedObject.kind,EVENT:.reason,MESSAGE:.message"
EVENTS = "-o=custom-columns=POD:.involvedObject.name,EVENT:.reason,MESSAGE:.message"


def show(stage: Stage) -> None:
    """Run the demonstration.  Raises ServerError: the control plane cannot be started, or an expected result does not appear."""
    programs = local_control_plane.find()
    stage.line("Muster on its own control plane: a real API server, the webhooks, the sidecar.")
    stage.title("1  Install: permissions, the webhook server, the sidecar")
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as name, local_control_plane.installed(stage, programs, Path(name)) as shell:
        for step in (admission, training, preemption, invalid_tree, no_capacity, job):
            step(stage, shell)
    _next(stage)


def _places(shell: Shell) -> str:
    """Return the options that show the node of each pod with its gang, which its label names if the groups are custom resources."""
    if (shell.folder / local_control_plane.DEFINITIONS).exists():
        return f"-o=custom-columns='POD:.metadata.name,GANG:.metadata.labels.{_LABEL},NODE:.spec.nodeName'"
    return "-o=custom-columns=POD:.metadata.name,GANG:.spec.schedulingGroup.podGroupName,NODE:.spec.nodeName"


def admission(stage: Stage, shell: Shell) -> None:
    """Show a refused group."""
    stage.title("2  Admission: the API server calls the webhooks")
    stage.paragraph("The cluster: eight nodes with eight GPUs each. Two notebooks and a server run on three of them.")
    shell.run("kubectl create -f nodes.yaml -f running.yaml")
    stage.run(shell, "kubectl get nodes -L topology.kubernetes.io/zone,example.com/rack")
    stage.paragraph("A group that is its own parent, so that its tree has no root. The API server accepts it, Muster does not:")
    stage.run(shell, "kubectl create -f refused.yaml", refused=True)


def training(stage: Stage, shell: Shell) -> None:
    """Show a tree that is placed."""
    stage.title("3  A training job: its tree is placed as a whole")
    stage.paragraph(
        "The tree: one group of groups, all in one zone; below it two gangs of four pods, each in one rack. kubectl creates the "
        "objects one by one. No pod is bound until all exist; then all are bound together."
    )
    stage.run(shell, "kubectl create -f workload.yaml -f training.yaml")
    stage.run(shell, "kubectl wait compositepodgroup/training-run --for=condition=CompositePodGroupInitiallyScheduled")
    stage.run(shell, f"kubectl get pods {_places(shell)}")
    stage.run(shell, "kubectl get compositepodgroups,podgroups")
    stage.run(shell, "kubectl describe compositepodgroup training-run", "zone z1", since="Status:")


def preemption(stage: Stage, shell: Shell) -> None:
    """Show a gang that preempts pods of lower priority."""
    stage.title("4  Preemption: an evaluation needs a rack that two notebooks use")
    stage.paragraph(
        "All victims are chosen before the first eviction. The plan is proved, and each eviction is first tried as a dry run, so that "
        "no PodDisruptionBudget stops it half-way. The notebooks have a lower priority; no other choice is sufficient."
    )
    stage.run(shell, "kubectl create -f evaluation.yaml")
    stage.run(shell, "kubectl wait pod/notebook-0 pod/notebook-1 --for=condition=DisruptionTarget")
    stage.run(shell, f"kubectl get pods notebook-0 notebook-1 {REASONS}")
    stage.run(shell, f"kubectl get events --field-selector reason=Preempted {EVENTS}", "node c1", "node c2")
    stage.paragraph("On a cluster, the kubelet stops them. There is no kubelet here, so they are deleted by hand:")
    stage.run(shell, "kubectl delete pods notebook-0 notebook-1 --force")
    stage.run(shell, "kubectl wait podgroup/evaluation --for=condition=PodGroupInitiallyScheduled")
    stage.run(shell, f"kubectl get pods evaluation-0 evaluation-1 {_places(shell)}")


def invalid_tree(stage: Stage, shell: Shell) -> None:
    """Show a tree that is invalid only as a whole, the report, and the fix."""
    stage.title("5  A tree that is invalid as a whole: admission cannot see it")
    stage.paragraph("A gang is queued as one entity, but one pod of this gang has another priority. Each object alone is valid:")
    stage.run(shell, "kubectl create -f labelling.yaml")
    stage.run(shell, "kubectl wait podgroup/labelling --for=condition=PodGroupInitiallyScheduled=False")
    stage.run(shell, "kubectl describe podgroup labelling", since="Status:")
    stage.paragraph("The fix: the pod is created again with the priority of its group.")
    stage.run(shell, "kubectl replace --force -f mended.yaml")
    stage.run(shell, "kubectl wait podgroup/labelling --for=condition=PodGroupInitiallyScheduled")


def no_capacity(stage: Stage, shell: Shell) -> None:
    """Show a gang that does not fit, the reason, and remedies."""
    stage.title("6  No capacity: why a group is pending, and what would help")
    stage.paragraph("A sweep of four pods with four GPUs each, in one rack. Its priority is too low to preempt other pods:")
    stage.run(shell, "kubectl create -f sweep.yaml")
    stage.run(shell, "kubectl wait podgroup/sweep --for=condition=PodGroupInitiallyScheduled=False")
    stage.run(shell, "kubectl get podgroups")
    stage.run(shell, "kubectl describe podgroup sweep", "FailedScheduling", since="Status:")
    stage.paragraph("The same cluster as a file, with remedies that were verified on it:")
    stage.run(shell, "muster snapshot > cluster.json")
    stage.run(shell, "muster simulate cluster.json", refused=True, since="     conflicting constraints")


def job(stage: Stage, shell: Shell) -> None:
    """Show a Job whose controller creates no group."""
    stage.title("7  A Job as it is: its groups are made, with nothing but a label of the namespace")
    if not local_control_plane.has_controllers(shell.kubectl.parent):
        stage.paragraph(f"Left out: {local_control_plane.ASSETS} has no {local_control_plane.CONTROLLERS}, which creates the pods.")
        return
    stage.paragraph(
        "The Job names no group, and its controller creates none. The sidecar's mode build does, as muster compile prints them; a webhook "
        "lets the pods join. An annotation of the Job keeps them in one rack:"
    )
    stage.run(shell, "kubectl label namespace research muster.dev/groups=build")
    stage.run(shell, "kubectl create -f finetune.yaml")
    # kubectl cannot wait for pods that do not exist yet.
    shell.run("kubectl get pods -l job-name=finetune", "finetune-0", "finetune-1", "finetune-2")
    stage.run(shell, "kubectl wait pods -l job-name=finetune --for=condition=PodScheduled")
    stage.run(shell, f"kubectl get events --field-selector involvedObject.name=finetune,reason=GroupsCreated {CREATED}", "1 group")
    stage.run(shell, "kubectl get pods -l job-name=finetune -o=custom-columns=POD:.metadata.name,NODE:.spec.nodeName")


def _next(stage: Stage) -> None:
    stage.line("The sidecar, the webhook server and the control plane have stopped, and their files are removed.")
    stage.line("The manifests of this demonstration:")
    stage.line(f"    {local_control_plane.PLACEMENT}\n    {local_control_plane.HERE}")
    stage.title("8  What to try next, on your own cluster")
    stage.command(
        "muster sidecar --mode validate --lease none",
        "from here: reports invalid trees in conditions and events; binds and evicts nothing",
    )
    stage.command(
        "kubectl apply -f deploy/base/namespace.yaml && kubectl apply -k deploy/sidecar",
        "the sidecar on the cluster, from a checkout that names an image (deploy/README.md)",
    )
    stage.command("muster snapshot > cluster.json", "all that placement reads, in one file")
    stage.command("muster simulate --objects cluster.json MANIFESTS", "where your groups fit")
