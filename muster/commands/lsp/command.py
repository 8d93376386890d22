"""``muster lsp``: options of the language server."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from muster import extras
from muster.commands import options
from muster.commands.lint import configuration, inputs

if TYPE_CHECKING:
    from muster.commands.lsp.session import Options


@click.command(short_help="Run the language server for editors.", epilog="Example: muster lsp --exclude 'tests/broken/'")
@options.judging
@options.exclude
@options.include
@configuration.options
@click.option("--baseline", metavar="FILE", help="Do not report the findings of this file.")
def lsp(**_: object) -> int:
    """Run the language server: it speaks the Language Server Protocol on standard input and output.

    An editor starts it. It reports the findings of muster lint for all manifests of the workspace while you type, and references
    between open files and files on disk. It reads the files that muster lint reads in the folders of the workspace, and the configuration
    of the first folder. It completes keys, values and names, also in a document that is still incomplete, and renames groups, Workloads
    and templates in all files. Quick fixes, hover, "go to definition" and the outline are supported.

    Exit status: 0 after the editor has ended the connection, 2 the command line is wrong.
    """
    extras.require("editor")
    context = click.get_current_context()
    options_here = _session_options(context)  # a mistake is reported before the editor connects
    if sys.stdin.isatty():
        raise click.UsageError("an editor must start this command: standard input is a terminal")
    from muster.commands.lsp import server

    def options_of(folder: str) -> tuple[Options, str]:
        try:
            configuration.read_again(context, folder)
            return _session_options(context), ""
        except click.UsageError as error:
            configuration.read_again(context, None)
            return _session_options(context), error.format_message()

    server.run(options_here, options_of)
    return 0


def _session_options(context: click.Context) -> Options:
    """Return the options of the session for the parameters of the command.  Raises click.UsageError."""
    from muster.commands.lint import baseline_file
    from muster.commands.lsp.session import Options

    given = context.params
    judging = {name: given[name] for name in ("profile", "kubernetes", "gates", "rules", "select", "ignore")}
    settings = dataclasses.replace(configuration.settings(**judging), fixes=True)
    inputs.filters(given["exclude"], given["include"])
    new = baseline_file.hiding(given["baseline"]) if given["baseline"] else lambda findings: findings
    return Options(settings, lambda folders: inputs.filters(given["exclude"], given["include"], folders), new)
