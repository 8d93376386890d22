"""``muster lsp``: options of the language server."""

from __future__ import annotations

import dataclasses
import sys

import click

from muster import extras
from muster.commands import options
from muster.commands.lint import configuration, inputs


@click.command(short_help="Run the language server for editors.", epilog="Example: muster lsp --exclude 'tests/broken/'")
@options.judging
@options.exclude
@options.include
@configuration.options
def lsp(
    *,
    profile: str,
    kubernetes: str,
    gates: tuple[str, ...],
    rules: tuple[str, ...],
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
) -> int:
    """Run the language server: it speaks the Language Server Protocol on standard input and output.

    An editor starts it. It reports the findings of muster lint for all manifests of the workspace while you type, and references
    between open files and files on disk. It reads the files that muster lint reads in the folders of the workspace. Quick fixes, hover
    and "go to definition" are supported.

    Exit status: 0 after the editor has ended the connection, 2 the command line is wrong.
    """
    extras.require("editor")
    settings = configuration.settings(profile, kubernetes, gates, rules, select=select, ignore=ignore)
    settings = dataclasses.replace(settings, fixes=True)
    inputs.filters(exclude, include)  # a mistake is reported before the editor connects
    if sys.stdin.isatty():
        raise click.UsageError("an editor must start this command: standard input is a terminal")
    from muster.commands.lsp import server

    server.run(settings, lambda folders: inputs.filters(exclude, include, folders))
    return 0
