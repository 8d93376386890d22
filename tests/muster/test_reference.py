"""The generated pages of docs/reference have everything that there is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kubeapi.groups import INITIALLY_SCHEDULED
from muster import cli, document, reference
from scheduler_core.causes.built_groups import GroupsCreated, GroupsOutdated, GroupsRefused, NotBuilt, NotBuiltReason
from scheduler_core.model.conditions import DISRUPTION_TARGET, WAITING
from scheduler_core.sidecar.controllers import validity
from scheduler_core.sidecar.process.enabled_controllers import IGNORED
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.wording import built_group_words
from scheduler_core.wording import conditions as wording
from webhooks import settings
from webhooks.server.metrics import Telemetry

ROOT = Path(__file__).parents[2]
SIDECAR = ROOT / "scheduler_core" / "sidecar"


def page(name: str) -> str:
    return document.pages()[document.REFERENCE / name]


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in cli.SUBCOMMANDS:
        command = cli.main.get_command(click.Context(cli.main), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", each) for below, each in command.commands.items())
        else:
            yield name, command


@pytest.mark.parametrize(("name", "command"), [*commands()], ids=[name for name, _ in commands()])
def test_every_option_is_on_the_page(name: str, command: click.Command) -> None:
    _, _, section = page("commands.md").partition(f"## muster {name}\n")
    section = section.partition("\n## ")[0]
    options = [each for each in command.params if isinstance(each, click.Option)]

    assert options or name == "explain"
    assert [each.opts[0] for each in options if f"`{each.opts[0]}" not in section and f" {each.opts[0]}" not in section] == []
    assert all(" ".join((each.help or "").split("[")[0].split()).replace("|", "\\|") in section for each in options)


def events_recorded() -> set[str]:
    """The reasons that the sidecar gives to events: the literal third argument of each ``RecordEvent``."""
    calls = (node for path in SIDECAR.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    tells = [node for node in calls if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RecordEvent"]
    assert len(tells) > 5
    tells = [each for each in tells if len(each.args) > 2]
    named = {each.args[2].id for each in tells if isinstance(each.args[2], ast.Name)}
    assert {"IGNORED", "WAITING"} == named
    return {each.args[2].value for each in tells if isinstance(each.args[2], ast.Constant)} | {IGNORED, WAITING}


def test_every_event_is_on_the_page() -> None:
    built = GroupsCreated(1, "g"), GroupsRefused("e"), GroupsOutdated(()), NotBuilt(NotBuiltReason.INVALID)
    recorded = events_recorded() | {built_group_words.event(each)[1] for each in built}
    # What says that a tree is invalid takes its reason from the condition.
    assert recorded | {"Invalid"} == {reason for reason, *_ in reference.EVENTS}
    assert all(f"| `{reason}` | {severity} |" in page("conditions.md") for reason, severity, *_ in reference.EVENTS)


def test_every_condition_is_on_the_page() -> None:
    """By the constants that the sidecar takes its types and reasons from."""
    types = {*INITIALLY_SCHEDULED.values(), DISRUPTION_TARGET, validity.VALID, "PodScheduled"}
    groups = {
        "Unschedulable",
        "SchedulerError",
        *validity._OUR_REASONS,
        WAITING,
        wording.disruption_target("").reason,
        "Scheduled",
    }

    assert types == {kind for _, kind, *_ in reference.CONDITIONS}
    assert groups == {reason for *_, reason, _ in reference.CONDITIONS}
    assert all(f"| `{kind}` | {status} | `{reason}` |" in page("conditions.md") for _, kind, status, reason, _ in reference.CONDITIONS)


def test_every_metric_is_on_the_page() -> None:
    names = [name for name, *_ in Telemetry().described()] + [each.name for each in SidecarMetrics().described()]

    assert len(names) > 25
    assert [name for name in names if f"| `{name}` |" not in page("metrics.md")] == []


def test_every_variable_is_on_the_page() -> None:
    assert [each.variable for each in settings.OPTIONS.values() if f"| `{each.variable}` |" not in page("settings.md")] == []
    assert "`MUSTER_SCHEDULER_NAME`" in page("settings.md")


def test_text_is_no_markup() -> None:
    assert reference._plain("a [b] <c> *d*") == "a \\[b] &lt;c> \\*d\\*"
