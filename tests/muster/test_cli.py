"""The front door: what it lists, what it imports, how it tells a mistake."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from kubeapi import gather
from muster import cli


def muster(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, list(arguments))


def calls() -> list[list[str]]:
    """Every command that does something, by the words that call it."""
    found = []
    for name in cli.SUBCOMMANDS:
        command = cli.main.get_command(click.Context(cli.main), name)
        below = sorted(command.commands) if isinstance(command, click.Group) else [""]
        found += [[name, *filter(None, [each])] for each in below]
    return found


@pytest.mark.parametrize("words", calls(), ids=" ".join)
def test_every_command_has_help_with_an_example(words: list[str]) -> None:
    answer = muster(*words, "--help")

    assert answer.exit_code == 0
    assert answer.stdout.startswith(f"Usage: muster {' '.join(words)} ")
    assert "Example" in answer.stdout
    # click's mark for lines that are not to be joined: it shows where a docstring is raw.
    assert "\\b" not in answer.stdout


def test_help_has_a_line_for_each_subcommand() -> None:
    answer = muster("--help")

    assert answer.exit_code == 0
    assert all(f"  {name} " in answer.stdout and each.about in answer.stdout for name, each in cli.SUBCOMMANDS.items())


@pytest.mark.parametrize("command", ["simulate", "snapshot"])
@pytest.mark.parametrize("kind", gather.KINDS)
def test_help_names_every_kind_that_is_read(command: str, kind: str) -> None:
    plural = {"s": f"{kind}es", "y": f"{kind[:-1]}ies"}.get(kind[-1], f"{kind}s")
    words = muster(command, "--help").stdout.replace(",", " ").replace(".", " ").split()
    assert plural in words


def test_no_subcommand_is_help_and_a_mistake() -> None:
    answer = muster()

    assert answer.exit_code == 2
    assert "Commands:" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["nothing"], "No such command 'nothing'", id="unknown command"),
        pytest.param(["simulat"], "No such command 'simulat'. Did you mean 'simulate'?", id="misspelt command"),
        pytest.param(["lint", "--formt", "json"], "Did you mean '--format'", id="misspelt option"),
        pytest.param(["lint", "--nothing"], "--nothing", id="unknown option"),
        pytest.param(["lint", "--format", "xml", "."], "'xml' is not one of", id="unknown choice"),
        pytest.param(["--nothing"], "--nothing", id="unknown option of the whole"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments: list[str], told: str) -> None:
    answer = muster(*arguments)

    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert told in answer.stderr


def test_version() -> None:
    answer = muster("--version")

    assert answer.exit_code == 0
    assert answer.stdout.startswith("muster ")


def test_a_command_that_is_interrupted_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.Subcommands, "get_command", lambda *_: click.Command("lint", callback=interrupted))

    assert muster("lint").exit_code == 130


@pytest.mark.parametrize(
    ("error", "want"),
    [
        pytest.param(OSError(errno.ENOSPC, "No space left on device"), "No space left on device", id="no room"),
        pytest.param(PermissionError(errno.EACCES, "Permission denied", "/x"), "/x: Permission denied", id="a file"),
        pytest.param(FileNotFoundError("no temporary directory"), "no temporary directory", id="nothing but words"),
    ],
)
def test_what_the_machine_does_not_give_is_a_line_and_exit_2(monkeypatch: pytest.MonkeyPatch, error: OSError, want: str) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli.Subcommands, "get_command", lambda *_: click.Command("lint", callback=fails))
    answer = muster("lint")

    assert (2, "", f"muster: {want}\n") == (answer.exit_code, answer.stdout, answer.stderr)


@pytest.mark.parametrize(("arguments", "want"), [(("lint", "a.json"), 0), (("lint", "-"), 2), (("review", "-"), 2)])
def test_a_standard_input_that_is_closed_matters_only_to_a_command_that_reads_it(
    tmp_path: Path, arguments: tuple[str, ...], want: int
) -> None:
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap"}', encoding="utf-8")
    command = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "muster", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (want, "") == (ran.returncode, ran.stderr)
    assert ("bad file descriptor" in ran.stdout) == (want == 2)


def imported_by(*arguments: str, folder: Path | None = None) -> set[str]:
    """The top-level modules that a call imports, in a process of its own."""
    code = "import sys; from muster.cli import main\ntry: main()\nfinally: print(*{each.partition('.')[0] for each in sys.modules}, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=folder)
    return set(ran.stderr.split())


def test_lint_imports_nothing_of_the_server(tmp_path: Path) -> None:
    """Start-up time is a feature."""
    heavy = {"flask", "werkzeug", "kubernetes", "cryptography", "gunicorn", "prometheus_client", "rich", "logging", "tomllib"}
    heavy |= {"webhooks", "certs"}

    assert imported_by("lint", "nowhere", folder=tmp_path) & heavy == set()


def test_help_imports_nothing_but_click() -> None:
    assert imported_by("--help") & {"yaml", "msgspec", "validators", "webhooks", "certs"} == set()


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param("muster mig", ["migrate"], id="a command"),
        pytest.param("muster lint --format j", ["json", "junit"], id="a format"),
        pytest.param("muster lint --output sa", ["sarif="], id="a report"),
        pytest.param("muster explain template-n", ["template-names-unique", "template-not-empty"], id="a rule"),
        pytest.param("muster explain podg", ["PodGroup"], id="a kind"),
        pytest.param("muster lint --rule template-not", ["template-not-empty="], id="a rule to be changed"),
        pytest.param("muster serve --rule template-not", ["template-not-empty="], id="a rule of the server to be changed"),
        pytest.param(
            "muster lint --rule template-not-empty=",
            [f"template-not-empty={each}" for each in ("error", "warning", "off")],
            id="a severity",
        ),
    ],
)
def test_a_shell_completes(words: str, want: list[str]) -> None:
    """As the function does that ``_MUSTER_COMPLETE=bash_source muster`` prints."""
    environ = os.environ | {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ran = subprocess.run([sys.executable, "-m", "muster"], capture_output=True, text=True, check=False, env=environ)

    assert (ran.returncode, [f"plain,{each}" for each in want]) == (0, ran.stdout.splitlines())
