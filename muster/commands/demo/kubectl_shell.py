"""The demonstration's shell: it runs the commands that it shows, and shows their output.

It has two programs: ``muster``, and ``kubectl`` of the control plane.  Commands run in the folder of the manifests, which is also
their home directory, so that settings of the user have no effect.
"""

from __future__ import annotations

import dataclasses
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from muster.commands.demo import webhook_server
from muster.commands.demo.webhook_server import ServerError

WAIT_SECONDS = 30.0
ASK_EVERY = 0.2
COMMAND_SECONDS = 60.0
LAST_LINES = 3
"""Number of lines shown of a failed command."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommandOutput:
    """Output of a command, including errors, and its exit status."""

    code: int
    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Shell:
    """Shell that runs and shows commands.

    Attributes:
        kubectl: the program.
        kubeconfig: cluster and user.
        folder: where commands are run.

    """

    kubectl: Path
    kubeconfig: Path
    folder: Path

    def run(self, line: str) -> CommandOutput:
        """Run a line: ``kubectl …`` or ``muster …``, which can end in ``> FILE``.

        Raises:
            ServerError: the command does not end.

        """
        words, target = shlex.split(line), ""
        if ">" in words:
            *words, _, target = words
        command = [str(self.kubectl), *words[1:]] if words[0] == "kubectl" else [*webhook_server.command(*words[1:])]
        environment = {**webhook_server.environment(), "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        error = subprocess.PIPE if target else subprocess.STDOUT
        try:
            done = subprocess.run(  # noqa: S603 - kubectl, or our own command
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=error,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ServerError(f"{line} did not end after {COMMAND_SECONDS:g} s") from None
        if target:
            (self.folder / target).write_bytes(done.stdout)
        printed = done.stderr if target else done.stdout
        return CommandOutput(done.returncode, tuple(printed.decode("utf-8", "replace").rstrip().splitlines()))

    def sure(self, line: str, *, refused: bool = False) -> tuple[str, ...]:
        """Run a line that must succeed, or with *refused* must fail, and return its output.

        Raises:
            ServerError: the command does not end, or has another result.

        """
        output = self.run(line)
        if (output.code != 0) is not refused:
            raise ServerError(f"{line} {'ends' if refused else 'fails'} with status {output.code}: {_last(output)}")
        return output.lines

    def until(self, expected: Sequence[str], line: str) -> tuple[str, ...]:
        """Run a command until its output has all of *expected*, and return the output.

        Raises:
            ServerError: the output does not appear in time.

        """
        end = time.monotonic() + WAIT_SECONDS
        while missing := _missing(expected, output := self.run(line)):
            if time.monotonic() > end:
                raise ServerError(f"{line} did not print {missing!r} within {WAIT_SECONDS:g} s: {_last(output)}")
            time.sleep(ASK_EVERY)
        return output.lines


def _missing(expected: Sequence[str], output: CommandOutput) -> str:
    """Return the first of *expected* that the output lacks; empty if none."""
    text = "\n".join(output.lines)
    return next((each for each in expected if each not in text), "")


def _last(output: CommandOutput) -> str:
    return " ".join(line.strip() for line in output.lines[-LAST_LINES:]) or "it prints nothing"
