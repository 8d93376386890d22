"""``muster demo``: the linter, the webhook server and the simulator on one machine, without a cluster.

Everything is in a temporary directory and in separate processes, and is removed at the end, except one HTML page.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click

from muster import extras, standard_output
from muster.commands import options
from muster.commands.demo import webhook_server, wording
from muster.commands.demo.terminal import DATA, Stage
from muster.commands.demo.webhook_server import Client, ServerError

EXIT_FAILED = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_TERMINATED = 128 + signal.SIGTERM
NOT_A_REVIEW = b'{"apiVersion":"v1","kind":"Pod"}'


EXAMPLES = """\b
Examples:
  muster demo --no-color
  KUBEBUILDER_ASSETS=$(make -s cluster-assets) muster demo --cluster
"""


@click.command(short_help="Show the linter, the webhook server and placement without a cluster.", epilog=EXAMPLES)
@options.no_color
@click.option(
    "--cluster",
    is_flag=True,
    help="Use a real control plane: etcd, kube-apiserver and kubectl of KUBEBUILDER_ASSETS, with Muster installed.",
)
def demo(*, no_color: bool, cluster: bool) -> int:
    """Show Muster on this machine without a cluster, in less than a minute. Only one HTML page is left behind.

    The demonstration lints manifests with mistakes. It starts the webhook server on a free loopback port, with its own
    certificate, and sends it AdmissionReviews as an API server does. It places pending groups on the nodes of a small cluster
    described in files.

    With --cluster, it starts a real API server on free loopback ports and installs webhooks and sidecar as deploy/ does. It
    then shows with kubectl a wrong group, a training run, a preemption, an invalid tree and a group that does not fit.
    """
    extras.require("all")
    coloured = sys.stdout.isatty() and not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    stage = Stage(coloured)
    try:
        with _stopped_in_order():
            if cluster:
                from muster.commands.demo import cluster_demo

                cluster_demo.show(stage)
            else:
                _show(stage)
    except ServerError as error:
        standard_output.report(f"muster demo: {error}")
        return EXIT_FAILED
    except KeyboardInterrupt:
        standard_output.report("muster demo: stopped; its processes and files are removed")
        return EXIT_INTERRUPTED
    return 0


def _show(stage: Stage) -> None:
    stage.line("Muster on this machine: the linter, the webhook server, placement. No cluster is needed.")
    _lint(stage)
    _admit(stage)
    _place(stage)
    _next(stage)


@contextlib.contextmanager
def _stopped_in_order() -> Iterator[None]:
    """Context in which SIGTERM and SIGHUP unwind like Ctrl-C, so that all is stopped and the files are removed.

    Further signals are ignored while it unwinds: a second Ctrl-C would leave processes or files behind.
    """

    def unwind(number: int, _: FrameType | None) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_IGN)
        if number == signal.SIGINT:
            with contextlib.suppress(OSError):
                os.write(sys.stderr.fileno(), b"\nmuster demo: stopping\n")
            raise KeyboardInterrupt
        raise SystemExit(EXIT_TERMINATED)

    # An ignored signal, such as SIGHUP under nohup, stays ignored.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in ours:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _lint(stage: Stage) -> None:
    from validators.lint import files, lint_files
    from validators.reports import text
    from validators.rules.base import Settings

    stage.title("1  Lint: mistakes in manifests, before they reach a cluster")
    stage.paragraph(
        "A training run as four files: a Workload with its templates, the groups created from it, pods, and a second Workload. They have "
        "eight mistakes. An API server does not find all of them: it validates one object at a time."
    )
    stage.command("muster lint manifests")
    with contextlib.chdir(DATA):
        report = lint_files.run(files.read_manifests(["manifests"], sys.stdin.buffer), (), settings=Settings(linting=True))
    shown = text.render_in_colour(report) if stage.colour else text.render(report)
    for line in shown.splitlines():
        # Excerpts begin with spaces and stay as they are.
        stage.line(line if line.startswith(("  ", "\x1b[34m  ")) else wording.fold(line))


def _admit(stage: Stage) -> None:
    stage.title("2  Admission: the webhook server, called as the API server calls it")
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as name:
        directory = Path(name)
        stage.command(f"muster certs issue --out certs --name localhost --name {webhook_server.HOST}")
        webhook_server.run("certs", "issue", "--out", name, "--name", "localhost", "--name", webhook_server.HOST)
        stage.command(f"muster serve --bind {webhook_server.HOST}:0 --objects cluster.yaml \\")
        stage.line("    --tls-cert certs/tls.crt --tls-key certs/tls.key")
        with webhook_server.running(directory, "--workers", "1", "--objects", str(DATA / "cluster.yaml")) as client:
            stage.line(f"listening on https://{client.address}; its certificate is verified with certs/ca.crt")
            stage.line()
            stage.paragraph(
                "AdmissionReviews of kube-apiserver 1.37.1, with other names and some mistakes added; below each, the output that kubectl "
                "shows."
            )
            for line in (DATA / "reviews.jsonl").read_text(encoding="utf-8").splitlines():
                _ask(stage, client, json.loads(line))
            answer = client.post("/validate", NOT_A_REVIEW)
            _exchange(stage, "/validate", "A body that is not an AdmissionReview is an error.")
            stage.outcome(f"HTTP {answer.code}", "yellow", [answer.content["error"]])
    stage.line("The server has answered all open requests and stopped.")


def _ask(stage: Stage, client: Client, record: dict[str, Any]) -> None:
    request = record["review"]["request"]
    answer = client.post(record["path"], json.dumps(record["review"]).encode())
    response = answer.content.get("response")
    if answer.code != 200 or not isinstance(response, dict) or response.get("uid") != request["uid"]:
        raise ServerError(f"the server answers a review with HTTP {answer.code}: {json.dumps(answer.content)}")
    _exchange(stage, record["path"], record["about"])
    if "patch" in response:
        patch = json.loads(base64.b64decode(response["patch"]))
        stage.outcome("completed", "green", [*wording.in_words(patch)])
    elif not response["allowed"]:
        stage.outcome(f"refused, {response['status']['code']}", "red", [*wording.as_kubectl(request, response)])
    else:
        verdict = ("allowed, with a warning", "yellow") if response.get("warnings") else ("allowed", "green")
        stage.outcome(*verdict, [*wording.as_kubectl(request, response)])


def _exchange(stage: Stage, path: str, about: str) -> None:
    stage.line(wording.fold(f"{click.style(f'POST {path}', bold=True)}  {about}"))


def _place(stage: Stage) -> None:
    from muster.commands.page_origin import page_origin
    from muster.commands.progress import Progress
    from muster.commands.simulate import cluster_input, simulation
    from muster.commands.simulate.request import SimulationRequest
    from muster.html import page
    from muster.render import answer_text
    from muster.render.tree_rows import Kinship
    from scheduler_core.cycle.run_cycle import CycleOptions

    stage.title("3  Placement: which pod runs where, which pods are evicted, and why a group is not placed")
    stage.paragraph(
        "Eight nodes with eight GPUs each, in two zones of two racks; two notebooks and a server run on them. Pending are a training "
        "run of two stages (all in one zone, each stage in one rack), an evaluation and a sweep (each in one rack)."
    )
    stage.command("muster simulate placement")
    progress = Progress()
    with contextlib.chdir(DATA):
        inputs = cluster_input.read_cluster_input(["placement"], (), progress)
        origin = dataclasses.replace(page_origin(["placement"]), command="muster simulate", line="muster simulate placement --format html")
    request = SimulationRequest(CycleOptions(strategy="complete"))
    answer, snapshot = simulation.run(inputs, request, progress)
    progress.end()
    for line in answer_text.render(answer, Kinship.from_snapshot(snapshot), colour=stage.colour).splitlines():
        stage.line(line)
    stage.line()
    stage.line("The same as a page for a browser, written by muster simulate --format html:")
    stage.line(f"    {_leave(page.render(answer, snapshot, request.cycle, origin))}")


def _leave(text: str) -> str:
    """Write a page to a new private file and return its name."""
    number, name = tempfile.mkstemp(prefix="muster-placement-", suffix=".html")
    with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return name


def _next(stage: Stage) -> None:
    stage.title("4  What to try next")
    for command, purpose in (
        (f"muster lint {_near('manifests')} --format sarif", "the same findings for code scanning"),
        ("muster lint DIRECTORY", "your own manifests"),
        ("muster explain disruption-nesting", "claim, reason and examples of a rule"),
        (f"muster review {_near('reviews.jsonl')}", "the same reviews, answered without a server"),
        (f"muster simulate {_near('placement')} --evict", "the notebooks are evicted and the evaluation runs"),
        (f"muster simulate {_near('placement')} --add-nodes '1 like d2'", "what if rack d had one more node?"),
        (f"muster topology --objects {_near('placement')}", "zones and racks, with used and free capacity"),
        ("muster fit JOB.yaml --cluster", "whether your Job, JobSet or Deployment fits in your cluster, which is only read"),
        ("muster serve --help", "the server and all its settings"),
    ):
        stage.command(command)
        stage.line(f"    {purpose}")


def _near(name: str) -> str:
    """Return the shortest path of a file of the demonstration."""
    path = DATA / name
    return min(str(path), os.path.relpath(path), key=len)
