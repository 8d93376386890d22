"""The ``muster`` command: a list of subcommands, each imported only when it is called.

A user's mistake is one line on standard error, printed by ``report_mistake``, and exit status 2.  The same holds for a file or
standard output that cannot be read or written, if no command reports it itself.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from muster import __version__, library_messages, standard_output
from muster.extras import ARGUMENTS

EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130


@dataclasses.dataclass(frozen=True, slots=True)
class Subcommand:
    """Subcommand: its location as ``module:attribute``, and its line in ``muster --help``."""

    at: str
    about: str


SUBCOMMANDS = {
    "lint": Subcommand("muster.commands.lint.command:lint", "Find mistakes in manifests: files, directories, standard input."),
    "lsp": Subcommand("muster.commands.lsp.command:lsp", "Run the language server: findings, fixes and help in an editor."),
    "tree": Subcommand("muster.commands.tree:tree", "Print the hierarchy of Workloads, groups and pods, with findings."),
    "explain": Subcommand("muster.commands.explain:explain", "Explain a rule: its claim, reason, source and examples."),
    "compile": Subcommand("muster.commands.compile.command:compile_", "Create Workloads, groups and pods from Jobs, JobSets and others."),
    "schema": Subcommand("muster.commands.schema.command:schema", "Print the JSON Schema of a kind, or building blocks for a CRD."),
    "migrate": Subcommand("muster.commands.migrate.command:migrate", "Convert manifests of retired API versions to current ones."),
    "review": Subcommand("muster.commands.review:review", "Answer recorded AdmissionReviews offline, as the server would."),
    "simulate": Subcommand("muster.commands.simulate.command:simulate", "Place groups on the nodes of a cluster described in files."),
    "fit": Subcommand("muster.commands.fit.command:fit", "Tell whether Jobs, JobSets and others fit in a cluster, and why not."),
    "why": Subcommand("muster.commands.why.command:why", "Tell why a pod or group is pending, and what would help."),
    "topology": Subcommand("muster.commands.topology.command:topology", "Show zones and racks as a tree, with their free capacity."),
    "snapshot": Subcommand(
        "muster.commands.snapshot.command:snapshot", "Save a cluster, live or from files, as one document for simulate."
    ),
    "serve": Subcommand("muster.commands.serve:command", "Run the webhook server."),
    "sidecar": Subcommand("muster.commands.sidecar:sidecar", "Watch a cluster: report invalid trees, place groups, preempt pods."),
    "certs": Subcommand("muster.commands.certs:command", "Issue, inspect or rotate the webhook's serving certificate."),
    "doctor": Subcommand("muster.commands.doctor.command:doctor", "Check an installation: trust, reach, self-lock, timeouts, expiry."),
    "demo": Subcommand("muster.commands.demo.command:demo", "Show the linter, the server and placement without a cluster."),
}


class Subcommands(click.Group):
    """Command group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return all names, in the order of the table."""
        return [*SUBCOMMANDS, *_ABOUT_ITSELF]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return the command."""
        if cmd_name not in SUBCOMMANDS:
            return _ABOUT_ITSELF.get(cmd_name)
        module, _, attribute = SUBCOMMANDS[cmd_name].at.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        gc.enable()  # ``muster_scheduling`` turns it off for the imports
        if not isinstance(command, click.Command):
            raise TypeError(f"{SUBCOMMANDS[cmd_name].at} is not a command")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that *args* name; an unknown name is a mistake with similar names."""
        name = args[0]
        ctx.meta[ARGUMENTS] = [*args]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            _refuse_unknown(ctx, self, name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write one line for each command, without importing any."""
        with formatter.section("Commands"):
            own = ((name, each.get_short_help_str()) for name, each in _ABOUT_ITSELF.items())
            formatter.write_dl([*((name, each.about) for name, each in SUBCOMMANDS.items()), *own])

    # It always ends the process, so it has one signature; click has two.
    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run the command and end the process with its exit status: an int that it returns, else 0."""
        extra["standalone_mode"] = False
        _open_standard_input()
        try:
            with standard_output.named(), library_messages.hidden():
                status = super().main(args, prog_name or "muster", **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            _print_error(error.format_message())
            sys.exit(EXIT_MISTAKE)
        except click.ClickException as error:
            report_mistake(error)
            sys.exit(EXIT_MISTAKE)
        except OSError as error:
            report_mistake(click.ClickException(_reason(error)))
            sys.exit(EXIT_MISTAKE)
        except click.Abort:
            sys.exit(EXIT_INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)


def _refuse_unknown(ctx: click.Context, group: click.Group, name: str) -> NoReturn:
    import difflib

    near = difflib.get_close_matches(name, group.list_commands(ctx), n=2)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    ctx.fail(f"No such command {name!r}.{hint}")


def kubectl_completions(words: Sequence[str]) -> list[str]:
    """Return the values of the last of *words*, which are the unfinished command line after ``kubectl muster``."""
    from click.shell_completion import ShellComplete

    *before, last = words or [""]
    return [each.value for each in ShellComplete(main, {}, "kubectl muster", "").get_completions(before, last) if each.type == "plain"]


def report_mistake(error: click.ClickException) -> None:
    """Print a mistake in one line: the command, the message, a reference to the help."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context is not None else "muster"
    message = " ".join(error.format_message().split())
    hint = f" (see '{command} --help')" if context is not None else ""
    from validators.reports.escape import printable

    _print_error(printable(f"{command}: {message}{hint}"))


def _open_standard_input() -> None:
    """Open a standard input that is closed as one that cannot be read, so that only a command that reads it fails."""
    if sys.stdin is None:
        # No file that is opened later gets its file descriptor.
        descriptor = os.open(os.devnull, os.O_WRONLY)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(descriptor, "r")), encoding="utf-8")


def _print_error(text: str) -> None:
    try:
        click.echo(text, err=True)
    except OSError:
        # The exit status is enough.  Flushing the buffer at the end would fail again and change it.
        sys.stderr = None


def _reason(error: OSError) -> str:
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{error.strerror or error}"


def _print_version(ctx: click.Context, _: click.Parameter, requested: bool) -> None:  # noqa: FBT001 - click's signature
    if requested and not ctx.resilient_parsing:
        click.echo(f"muster {__version__}")
        ctx.exit()


def _complete_command(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    if ctx.params.get("names"):
        return []
    return [each for each in SUBCOMMANDS if each.startswith(incomplete)]


@click.command("help", short_help="Show the help of a command.", epilog="Example: muster help fit")
@click.argument("names", nargs=-1, metavar="[COMMAND...]", shell_complete=_complete_command)
@click.pass_context
def _help(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of a command, as its --help does; without COMMAND, the list of commands."""
    of_command = ctx.find_root()
    for name in names:
        group = of_command.command
        if not isinstance(group, click.Group):
            ctx.fail(f"{of_command.command_path} has no command {name!r}")
        if (command := group.get_command(of_command, name)) is None:
            _refuse_unknown(of_command, group, name)
        of_command = click.Context(command, info_name=name, parent=of_command)
    click.echo(of_command.get_help())


@click.command("version", short_help="Show the version.", epilog="Example: muster version")
def _show_version() -> None:
    """Show the version, as muster --version does."""
    click.echo(f"muster {__version__}")


_ABOUT_ITSELF: dict[str, click.Command] = {"help": _help, "version": _show_version}
"""Commands about Muster itself, by name."""


@click.group("muster", cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version and exit.")
def main() -> None:
    """Check, complete and place Kubernetes workload groups: Workload, PodGroup, CompositePodGroup.

    Example: muster lint deploy/ --format sarif > muster.sarif
    """
