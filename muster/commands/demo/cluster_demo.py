"""``muster demo --cluster``: the webhooks and the sidecar at work on a real API server.

It starts a control plane, installs everything as on a cluster, and removes all at the end.  The commands shown are run, and
their output is kubectl's; an ellipsis marks omitted lines.
"""

from __future__ import annotations

import http.client
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muster.commands.demo import installation, local_control_plane
from muster.commands.demo.installation import HERE, PLACEMENT, Installed
from muster.commands.demo.terminal import LEFT_OUT, Stage
from muster.commands.demo.webhook_server import ANSWER_SECONDS, ServerError

COLUMNS = "POD:.metadata.name,GANG:.spec.schedulingGroup.podGroupName,NODE:.spec.nodeName"
REASONS = "POD:.metadata.name,WHY:.status.conditions[*].message"
EVENTS = "POD:.involvedObject.name,EVENT:.reason,MESSAGE:.message"


def show(stage: Stage) -> None:
    """Run the demonstration.

    Raises:
        ServerError: the control plane cannot be started, or an expected result does not appear.

    """
    programs = local_control_plane.find()
    stage.line("Muster on its own control plane: a real API server, the webhooks, the sidecar.")
    stage.title("1  Install: permissions, the webhook server, the sidecar")
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as name, installation.installed(stage, programs, Path(name)) as installed:
        story = _Story(stage, installed)
        story.admission()
        story.training()
        story.preemption()
        story.invalid()
        story.pending()
    _next(stage)


class _Story:
    """Steps of the demonstration on the cluster."""

    def __init__(self, stage: Stage, installed: Installed) -> None:
        self._stage, self._shell, self._sidecar = stage, installed.shell, installed.sidecar

    def admission(self) -> None:
        """Show a refused group."""
        self._stage.title("2  Admission: the API server calls the webhooks")
        self._stage.paragraph("The cluster: eight nodes with eight GPUs each. Two notebooks and a server run on three of them.")
        self._shell.sure("kubectl create -f nodes.yaml -f running.yaml")
        self._show("kubectl get nodes -L topology.kubernetes.io/zone,example.com/rack")
        self._stage.paragraph(
            "A group that is disrupted as a whole, but not scheduled as a whole. The API server accepts it, Muster does not:"
        )
        self._show("kubectl create -f refused.yaml", refused=True)

    def training(self) -> None:
        """Show a tree that is placed."""
        self._stage.title("3  A training job: its tree is placed as a whole")
        self._stage.paragraph(
            "The tree: one group of groups, all in one zone; below it two gangs of four pods, each in one rack. kubectl creates the "
            "objects one by one. No pod is bound until all exist; then all are bound together."
        )
        self._show("kubectl create -f workload.yaml -f training.yaml")
        self._wait("compositepodgroup/training-run", "CompositePodGroupInitiallyScheduled")
        self._show(f"kubectl get pods -o custom-columns={COLUMNS}")
        self._show("kubectl get compositepodgroups,podgroups")
        self._show("kubectl describe compositepodgroup training-run", expected=("zone z1",), since="Status:")

    def preemption(self) -> None:
        """Show a gang that preempts pods of lower priority."""
        self._stage.title("4  Preemption: an evaluation needs a rack that two notebooks use")
        self._stage.paragraph(
            "All victims are chosen before the first eviction. The plan is proved, and each eviction is first tried as a dry run, so that "
            "no PodDisruptionBudget stops it half-way. The notebooks have a lower priority; no other choice is sufficient."
        )
        self._show("kubectl create -f evaluation.yaml")
        self._wait("pod/notebook-0 pod/notebook-1", "DisruptionTarget")
        self._show(f"kubectl get pods notebook-0 notebook-1 -o custom-columns='{REASONS}'")
        self._show(f"kubectl get events --field-selector reason=Preempted -o custom-columns={EVENTS}", expected=("node c1", "node c2"))
        self._stage.paragraph("On a cluster, the kubelet stops them. There is no kubelet here, so they are deleted by hand:")
        self._show("kubectl delete pods notebook-0 notebook-1 --force")
        self._wait("podgroup/evaluation", "PodGroupInitiallyScheduled")
        self._show(f"kubectl get pods evaluation-0 evaluation-1 -o custom-columns={COLUMNS}")

    def invalid(self) -> None:
        """Show a tree that is invalid only as a whole, the report, and the fix."""
        self._stage.title("5  A tree that is invalid as a whole: admission cannot see it")
        self._stage.paragraph("A gang is queued as one entity, but one pod of this gang has another priority. Each object alone is valid:")
        self._show("kubectl create -f labelling.yaml")
        self._wait("podgroup/labelling", "PodGroupInitiallyScheduled=False")
        self._show("kubectl describe podgroup labelling", since="Status:")
        self._stage.paragraph("The fix: the pod is created again with the priority of its group.")
        self._show("kubectl replace --force -f mended.yaml")
        self._wait("podgroup/labelling", "PodGroupInitiallyScheduled")

    def pending(self) -> None:
        """Show a gang that does not fit, the reason, and remedies."""
        self._stage.title("6  No capacity: why a group is pending, and what would help")
        self._stage.paragraph("A sweep of four pods with four GPUs each, in one rack. Its priority is too low to preempt other pods:")
        self._show("kubectl create -f sweep.yaml")
        self._wait("podgroup/sweep", "PodGroupInitiallyScheduled=False")
        self._show("kubectl get podgroups")
        self._stage.paragraph("The sidecar's last decision on it:")
        self._explain("sweep")
        self._stage.paragraph("The same cluster as a file, with remedies that were verified on it:")
        self._show("muster snapshot > cluster.json")
        self._show("muster simulate cluster.json", refused=True, since="     conflicting constraints")

    def _wait(self, what: str, condition: str) -> None:
        self._show(f"kubectl wait {what} --for=condition={condition}")

    def _show(self, line: str, *, expected: Sequence[str] = (), refused: bool = False, since: str = "") -> None:
        """Run a command until its output has all of *expected*, and show the output from the line that begins with *since*."""
        self._stage.command(line)
        lines = self._shell.until(expected, line) if expected else self._shell.sure(line, refused=refused)
        self._stage.printed(_since(since, lines) if since else lines)

    def _explain(self, name: str) -> None:
        path = f"/explain/{local_control_plane.NAMESPACE}/{name}"
        self._stage.command(f"curl -s http://{self._sidecar}{path} | jq '{{status, message, search}}'")
        decision = _get(self._sidecar, path)
        shown = {key: decision.get(key) for key in ("status", "message", "search")}
        self._stage.printed(json.dumps(shown, indent=2, ensure_ascii=False).splitlines())


def _since(start: str, lines: Sequence[str]) -> Sequence[str]:
    first = next((number for number, line in enumerate(lines) if line.startswith(start)), 0)
    return [LEFT_OUT, *lines[first:]] if first else lines


def _get(address: str, path: str) -> Any:
    """Return the sidecar's response in JSON.  Raises ServerError: there is none."""
    connection = http.client.HTTPConnection(address, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ServerError(f"the sidecar at {address} does not answer correctly: {error}") from None
    finally:
        connection.close()


def _next(stage: Stage) -> None:
    stage.line("The sidecar, the webhook server and the control plane have stopped, and their files are removed.")
    stage.line("The manifests of this demonstration:")
    stage.line(f"    {PLACEMENT}")
    stage.line(f"    {HERE}")
    stage.title("7  What to try next, on your own cluster")
    for command, purpose in (
        (
            "muster sidecar --mode validate --lease none",
            "from here: reports invalid trees in conditions and events; binds and evicts nothing",
        ),
        (
            "kubectl apply -f deploy/base/namespace.yaml && kubectl apply -k deploy/sidecar",
            "the sidecar on the cluster, from a checkout that names an image (deploy/README.md)",
        ),
        ("muster snapshot > cluster.json", "all that placement reads, in one file"),
        ("muster simulate --objects cluster.json MANIFESTS", "where your groups fit"),
    ):
        stage.command(command)
        stage.line(f"    {purpose}")
