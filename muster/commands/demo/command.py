"""``muster demo``: the linter, the webhook server and the simulator on one machine, without a cluster.

Everything is in a temporary directory and in separate processes, and is removed at the end, except one HTML page.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shlex
import shutil
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
from muster.commands.demo import child_processes, terminal
from muster.commands.demo.child_processes import HOST, ServerError, Shell
from muster.commands.demo.terminal import DATA, Stage

EXIT_FAILED = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_TERMINATED = 128 + signal.SIGTERM
NOT_A_REVIEW = {
    "path": "/validate",
    "about": "A body that is not an AdmissionReview is an error.",
    "review": {"apiVersion": "v1", "kind": "Pod"},
}


EXAMPLES = """\b
Examples:
  muster demo --no-color
  muster demo --write muster-demo
  KUBEBUILDER_ASSETS=$(make -s cluster-assets) muster demo --cluster
"""


@click.command(short_help="Show the linter, the webhook server and placement without a cluster.", epilog=EXAMPLES)
@options.no_color
@click.option(
    "--cluster",
    is_flag=True,
    help="Use a real control plane: etcd, kube-apiserver and kubectl of KUBEBUILDER_ASSETS, with Muster installed.",
)
@click.option("--write", metavar="DIR", help="Leave the files that are shown, and the page, in DIR, which must be new or empty.")
def demo(*, no_color: bool, cluster: bool, write: str | None) -> int:
    """Show Muster on this machine without a cluster, in less than a minute. Only one HTML page is left behind, unless --write is given.

    The demonstration lints manifests with mistakes. It starts the webhook server on a free loopback port, with its own
    certificate, and sends it AdmissionReviews as an API server does. It places pending groups on the nodes of a small cluster
    described in files.

    With --cluster, it starts a real API server on free loopback ports and installs webhooks and sidecar as deploy/ does. It
    then shows with kubectl a wrong group, a training run, a preemption, an invalid tree and a group that does not fit.
    """
    extras.require("all")
    if write is not None:
        _check_new(write, cluster=cluster)
    stage = Stage(standard_output.is_colourful() and not no_color)
    try:
        with _stopped_in_order():
            if cluster:
                from muster.commands.demo import cluster_demo

                cluster_demo.show(stage)
            else:
                _show(stage, None if write is None else Path(write))
    except ServerError as error:
        standard_output.report(f"muster demo: {error}")
        return EXIT_FAILED
    except KeyboardInterrupt:
        standard_output.report("muster demo: stopped; its processes and files are removed")
        return EXIT_INTERRUPTED
    return 0


@contextlib.contextmanager
def _stopped_in_order() -> Iterator[None]:
    """Context in which SIGTERM and SIGHUP unwind like Ctrl-C, so that all is stopped and the files are removed.

    Further signals are ignored while it unwinds: a second Ctrl-C would leave processes or files behind.
    """

    def unwind(number: int, _: FrameType | None) -> None:
        for ours in before:
            signal.signal(ours, signal.SIG_IGN)
        if number == signal.SIGINT:
            with contextlib.suppress(OSError):
                os.write(sys.stderr.fileno(), b"\nmuster demo: stopping\n")
            raise KeyboardInterrupt
        raise SystemExit(EXIT_TERMINATED)

    # An ignored signal, such as SIGHUP under nohup, stays ignored.
    handlers = ((number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    before = {number: handler for number, handler in handlers if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_new(directory: str, *, cluster: bool) -> None:
    """Refuse ``--write`` where files would be mixed with others.  Raises click.UsageError."""
    path = Path(directory)
    if cluster:
        raise click.UsageError("--write and --cluster exclude each other")
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = next(path.iterdir(), None) is None
    except OSError as error:
        raise click.UsageError(f"--write: {directory}: {(error.strerror or str(error)).lower()}") from None
    if not is_empty:
        raise click.UsageError(f"--write: {directory} is not empty; give a new directory")


def _show(stage: Stage, kept: Path | None) -> None:
    stage.line("Muster on this machine: the linter, the webhook server, placement. No cluster is needed.")
    start = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as name, contextlib.chdir(name):
        shutil.copytree(DATA, name, dirs_exist_ok=True)
        if kept is not None:
            # The key of the server is not among them.
            shutil.copytree(DATA, start / kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("cluster"))
        _lint(stage)
        _admit(stage, Path(name))
        _place(stage, Path(name), None if kept is None else start / kept / "placement.html")
    _next(stage, DATA if kept is None else kept)


def _lint(stage: Stage) -> None:
    from muster.commands.lint.command import lint

    stage.title("1  Lint: mistakes in manifests, before they reach a cluster")
    stage.paragraph(
        "A training run as four files: a Workload with its templates, the groups created from it, pods, and a second Workload. They have "
        "eight mistakes. An API server does not find all of them: it validates one object at a time."
    )
    stage.command("muster lint manifests")
    _invoke(stage, lint, "manifests", "--no-config")


def _invoke(stage: Stage, command: click.Command, *arguments: str) -> None:
    """Run a command of Muster in this process: a terminal gets its colours and its progress, and Ctrl-C stays KeyboardInterrupt."""
    with command.make_context(command.name, [*arguments, *([] if stage.colour else ["--no-color"])]) as context:
        command.invoke(context)


def _admit(stage: Stage, folder: Path) -> None:
    stage.title("2  Admission: the webhook server, called as the API server calls it")
    serve = f"muster serve --bind {HOST}:0 --workers 1 --objects cluster.yaml --tls-cert certs/tls.crt --tls-key certs/tls.key"
    stage.command(child_processes.ISSUE)
    Shell(folder).run(child_processes.ISSUE)
    stage.command(serve)
    with child_processes.server(serve, folder) as address:
        stage.line(f"listening on https://{address}; its certificate is verified with certs/ca.crt\n")
        stage.paragraph(
            "AdmissionReviews of kube-apiserver 1.37.1, with other names and some mistakes added; below each, the output that kubectl "
            "shows."
        )
        records = [json.loads(line) for line in (folder / "reviews.jsonl").read_text(encoding="utf-8").splitlines()]
        for record in (*records, NOT_A_REVIEW):
            stage.line("\n".join(terminal.fold(f"POST {record['path']}  {record['about']}", "    ")))
            answer = child_processes.ask(address, record["path"], json.dumps(record["review"]).encode(), folder / "certs/ca.crt")
            stage.printed(_answer(record["review"], *answer))
    stage.line("The server has answered all open requests and stopped.")


def _answer(review: dict[str, Any], code: int, content: dict[str, Any]) -> Iterator[str]:
    """Yield the result of a review, and below it the fields that are set, or the output of kubectl."""
    if code != 200:
        yield from (f"HTTP {code}", f"  {content['error']}")
        return
    request, response = review["request"], content["response"]
    kind, name = request["kind"], request["name"]
    if "patch" in response:
        yield "completed"
        for operation in json.loads(base64.b64decode(response["patch"])):
            yield f"  {operation['path'][1:].replace('/', '.')} set to {json.dumps(operation['value'])}"
    elif response["allowed"]:
        warnings = response.get("warnings", ())
        yield "allowed, with a warning" if warnings else "allowed"
        yield from (*(f"  Warning: {each}" for each in warnings), f"  {kind['kind'].lower()}.{kind['group']}/{name} created")
    else:
        causes = [f"{each['field']}: {each['message']}" for each in response["status"]["details"]["causes"]]
        yield f"refused, {response['status']['code']}"
        invalid = f'  The {kind["kind"]} "{name}" is invalid:'
        yield from (f"{invalid} {causes[0]}",) if len(causes) == 1 else (invalid, *(f"  * {each}" for each in causes))


def _place(stage: Stage, folder: Path, page: Path | None) -> None:
    from muster.commands.simulate.command import simulate

    stage.title("3  Placement: which pod runs where, which pods are evicted, and why a group is not placed")
    stage.paragraph(
        "Eight nodes with eight GPUs each, in two zones of two racks; two notebooks and a server run on them. Pending are a training "
        "run of two stages (all in one zone, each stage in one rack), an evaluation and a sweep (each in one rack)."
    )
    stage.command("muster simulate placement")
    _invoke(stage, simulate, "placement")
    if page is None:
        number, name = tempfile.mkstemp(prefix="muster-placement-", suffix=".html")
        os.close(number)
        page = Path(name)
    Shell(folder).run("muster simulate placement --format html > placement.html", refused=True)
    shutil.copyfile(folder / "placement.html", page)
    stage.line("\nThe same as a page for a browser, written by muster simulate --format html:")
    stage.line(f"    {page}")


def _next(stage: Stage, files: Path) -> None:
    stage.title("4  What to try next")
    names = ("manifests", "reviews.jsonl", "placement")
    near = {name: shlex.quote(min(str(files / name), os.path.relpath(files / name), key=len)) for name in names}
    stage.command(f"muster lint {near['manifests']} --format sarif", "the same findings for code scanning")
    stage.command("muster lint DIRECTORY", "your own manifests")
    stage.command("muster explain disruption-nesting", "claim, reason and examples of a rule")
    stage.command(f"muster review {near['reviews.jsonl']}", "the same reviews, answered without a server")
    stage.command(f"muster simulate {near['placement']} --evict", "the notebooks are evicted and the evaluation runs")
    stage.command(f"muster simulate {near['placement']} --add-nodes '1 like d2'", "what if rack d had one more node?")
    stage.command(f"muster topology --objects {near['placement']}", "zones and racks, with used and free capacity")
    stage.command("muster fit JOB.yaml --cluster", "whether your Job, JobSet or Deployment fits in your cluster, which is only read")
    stage.command("muster serve --help", "the server and all its settings")
