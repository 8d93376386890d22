"""``muster simulate``: places groups on nodes read from manifests, and tells who would run where, who would leave, and why not."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from muster import extras
from muster.commands import options

if TYPE_CHECKING:
    from muster.commands.progress import Progress
    from muster.commands.simulate.request import Asked

FORMATS = ("text", "json", "html")
STRATEGIES = ("greedy", "complete")
_PERCENT = click.IntRange(0, 100)


@click.command(
    short_help="Place groups on nodes read from manifests: who would run where, and why not.",
    epilog="Example: kubectl get nodes,pods,podgroups -A -o json | muster simulate - train.yaml --add-nodes '2 like gpu-1'",
)
@click.argument("paths", nargs=-1, metavar="[PATH...|-]")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="What is written to standard output; html is one page to look at.  [default: text]"
)
@click.option("--batch", is_flag=True, help="PATH holds a question a line; one JSON answer a line, in order.")
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="complete",
    show_default=True,
    help="complete: searches where greedy, which decides as kube-scheduler 1.37, leaves pods out.",
)
@click.option(
    "--remedies",
    type=click.IntRange(0),
    metavar="ROOTS",
    help="Tell what would help, of so many roots not placed.  [default: 3; with greedy 0]",
)
@click.option("--budget", type=click.IntRange(1), metavar="STEPS", help="How many steps the search may take for a root.")
@click.option(
    "--order", multiple=True, metavar="ROOT,...", help="Roots in the order of their cycles; others follow by priority, age, name."
)
@click.option("--evict", is_flag=True, help="Let the victims leave, and run the next cycle too.")
@click.option("--scheduler-name", metavar="NAME", help="Place only pods of this scheduler.")
@click.option(
    "--drain",
    multiple=True,
    metavar="NODE|LABEL=VALUE,...",
    help="What if: the node is gone, or all with that label (rack=r3), and the pods there wait for another.",
)
@click.option(
    "--add-nodes",
    multiple=True,
    metavar="'N like NODE[,label=value...]'",
    help="What if: N more nodes, fresh and empty (repeatable); or N alone, and --like.",
)
@click.option("--like", multiple=True, metavar="NODE[,label=value...]", help="The node that those of --add-nodes N are like.")
@click.option("--ignore", multiple=True, metavar="FIELD", help="A field that is not modelled and is to be passed over (repeatable).")
@click.option("--plugin", multiple=True, metavar="NAME,...", help="A placement plugin that is installed beside Muster (repeatable).")
@click.option(
    "--objects", multiple=True, metavar="PATH", help="Further objects of the cluster; what is at both places, PATH says (repeatable)."
)
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write down there why roots that were proved to have no placement have none.",
)
@click.option("--fragmentation", is_flag=True, help="Tell the largest gang of each kind of pod that fits in one zone or rack now.")
@options.gates
@click.option("--timings", is_flag=True, help="Tell how many seconds it took.")
@click.option("--four-statuses", is_flag=True, help="Tell what no eviction can help, and do not try it (KEP-6012).")
@click.option("--nominated-first", is_flag=True, help="Take the domain of nominated pods where it is feasible (KEP-5732).")
@click.option(
    "--percentage-of-placements",
    type=_PERCENT,
    metavar="N",
    help="Stop after so many feasible ones; 0: by size (KEP-5732).  [default: 100]",
)
@click.option("--every-pod", is_flag=True, help="No domain where one pod of the group finds no node (KEP-5732).")
@click.option("--preempt-for-leftovers", is_flag=True, help="Preempt for more pods of a running gang as well (KEP-6012).")
@click.option("--verbose", "-v", is_flag=True, help="Name every pod with its node, and leave nothing out.")
@click.option("--no-color", is_flag=True, help="No colours; so it is when NO_COLOR is set or the output is no terminal.")
def simulate(
    *,
    paths: tuple[str, ...],
    form: str | None,
    batch: bool,
    objects: tuple[str, ...],
    certificate: str | None,
    verbose: bool,
    no_color: bool,
    **chosen: Any,
) -> int:
    """Place the groups and pods at PATH on the nodes there: manifests, kubectl's JSON, directories, - for standard input.

    All that is pending is placed in the order of the scheduler's queue, all that runs takes its room. Read are Nodes, Pods,
    PodGroups, CompositePodGroups, Workloads, PriorityClasses and PodDisruptionBudgets; JSON may have 1 GiB, YAML 64 MiB.

    With --batch, a line is {"id": ..., "objects": [...], "options": {"order": [...], "evict": true, ...}}; its options are those
    of the command line in camel case (addNodes, schedulerName), and win over them.

    Exit status: 0 every pod is placed, 1 one is not, 2 nothing could be decided or the call is wrong. With --objects, what counts
    are the pods and groups at PATH and the trees they belong to: muster simulate --objects cluster.json job.yaml asks whether
    that job would fit.
    """
    extras.require("simulate")
    if not paths:
        raise click.UsageError("give at least one PATH: a file, a directory, or - for standard input")
    if batch and (form in {"text", "html"} or verbose):
        raise click.UsageError("with --batch, answers are JSON")
    if certificate and (batch or chosen["evict"]):
        raise click.UsageError("--certificate is about one cycle: leave out --batch and --evict")
    from muster.commands.progress import Progress

    asked, progress = _asked(chosen), Progress()
    if batch:
        from muster.commands.simulate import question_batch

        return question_batch.answer(paths, objects, asked, progress)
    return _one(
        paths,
        objects,
        asked,
        progress,
        form=form or "text",
        colour=not no_color and _is_colourful(),
        verbose=verbose,
        certificate=certificate,
    )


def _one(
    paths: tuple[str, ...],
    objects: tuple[str, ...],
    asked: Asked,
    progress: Progress,
    *,
    form: str,
    colour: bool,
    verbose: bool,
    certificate: str | None,
) -> int:
    from muster.commands.simulate import cluster_input, simulation
    from muster.commands.simulate.what_if import WhatIfError
    from scheduler_core.queueing.queue_order import OrderError

    inputs = cluster_input.read_cluster_input(paths, objects, progress)
    if not inputs.files:
        click.echo(f"muster simulate: no .yaml, .yml, .json file in {', '.join(paths)}", err=True)
    try:
        answer, snapshot = simulation.run(inputs.objects, asked, inputs.problems, progress, inputs.own)
    except (OrderError, WhatIfError) as error:
        raise click.UsageError(str(error)) from None
    finally:
        progress.end()
    if answer.decisions and not len(snapshot.nodes):
        click.echo("muster simulate: there is no Node among the inputs", err=True)
    if certificate:
        from muster.commands.simulate import certificate_file

        try:
            certificate_file.write(certificate, snapshot, answer.decisions, asked.cycle)
        except OSError as error:
            raise click.UsageError(f"cannot write {certificate}: {(error.strerror or str(error)).lower()}") from None
    if form == "json":
        from muster.render import answer_json

        _to_stdout(answer_json.render(answer))
    elif form == "html":
        from muster.html import page

        _to_stdout(page.render(answer, snapshot, asked.cycle))
    else:
        from muster.render import answer_text
        from muster.render.tree import Kinship

        _to_stdout(answer_text.render(answer, Kinship.from_snapshot(snapshot), colour=colour, every=verbose))
    return answer.exit_status


def _asked(chosen: dict[str, Any]) -> Asked:
    """Return the options of the command line as options of a request, in camel case.

    Raises:
        click.UsageError: a value that an option cannot have.

    """
    from muster.commands.simulate.request import Asked, BadQuestion, with_options
    from scheduler_core.cycle.run_cycle import CycleOptions

    asked = Asked(CycleOptions(gates=options.gates_of(chosen.pop("gates"))))
    given = {to_camel(name): value for name, value in chosen.items() if value is not None and value is not False and value != ()}
    try:
        return with_options(asked, {name: ",".join(value) if name in _LISTED else value for name, value in given.items()})
    except BadQuestion as error:
        raise click.UsageError(str(error)) from None


_LISTED = frozenset({"order", "drain", "ignore", "plugin"})
"""Options that are names with commas between them, and may be repeated."""


def to_camel(name: str) -> str:
    """``add_nodes`` as ``addNodes``."""
    first, *more = name.split("_")
    return first + "".join(each.capitalize() for each in more)


def _is_colourful() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _to_stdout(text: str) -> None:
    # UTF-8 whatever the locale: names may be of any script, and JSON is UTF-8.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
