"""Settings of the sidecar and of the webhooks are declared once: options, variables, help, documentation and lower layers derive from that."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from muster import document
from muster.commands import serve
from muster.commands.review import review
from muster.commands.sidecar import sidecar
from scheduler_core.sidecar import settings as of_sidecar
from tests.muster.test_sidecar import invoke, kubeconfig, started
from webhooks import settings as of_webhooks

__all__ = ["kubeconfig", "started"]

ROOT = Path(__file__).parents[2]
KNOBS = of_sidecar.knobs()
OPTIONS = {each.name: each for each in sidecar.params}
BOUNDED = [(knob, low, high) for knob in KNOBS.values() if knob.bounds is not None for low, high in (knob.bounds,)]


def told_default(field: str) -> str:
    """The default of a setting of the sidecar, as its documentation has it."""
    knob, default = KNOBS[field], getattr(of_sidecar.Settings(), field)
    if knob.unset is not None:
        return knob.unset
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{','.join(sorted(default, key=list(of_sidecar.Mode).index)) if isinstance(default, frozenset) else default}`"


def test_every_option_of_the_sidecar_is_a_knob_and_every_setting_has_one():
    assert [knob.name for knob in KNOBS.values()] == [each.name for each in sidecar.params if each.name != "help"]
    assert [each.name for each in dataclasses.fields(of_sidecar.Settings)] == [*KNOBS]


def test_without_options_the_settings_are_their_defaults(started, kubeconfig):
    invoke("--kubeconfig", kubeconfig)
    found = started[0][1]

    assert of_sidecar.Settings(kubeconfig=kubeconfig, identity=found.identity) == found


@pytest.mark.parametrize("field", KNOBS)
def test_help_and_documentation_of_an_option_are_those_of_its_knob(field):
    knob, option = KNOBS[field], OPTIONS[KNOBS[field].name]
    assert isinstance(option, click.Option)
    row = f"| `{knob.flag}` | `{knob.variable}` | {told_default(field)} | {knob.help.replace('|', chr(92) + '|')} |"

    assert row in (document.REFERENCE / "knobs.md").read_text(encoding="utf-8").splitlines()
    assert (option.help or "").startswith(knob.help)
    shown = option.get_help_extra(click.Context(sidecar, show_default=True)).get("default")
    assert (knob.unset is None) is (shown is not None)
    if shown is not None and not isinstance(getattr(of_sidecar.Settings, field), bool):
        assert told_default(field) == f"`{shown}`"


@pytest.mark.parametrize(("knob", "low", "high"), BOUNDED, ids=[knob.option for knob, *_ in BOUNDED])
def test_both_bounds_of_a_number_hold(started, kubeconfig, knob, low, high):
    for value in filter(lambda each: each is not None, (low, high)):
        assert 0 == invoke("--kubeconfig", kubeconfig, knob.flag, str(value)).exit_code
        assert 0 == invoke("--kubeconfig", kubeconfig, **{knob.variable: str(value)}).exit_code
    good = len(started)
    for value in (low - 1, *(() if high is None else (high + 1,))):
        result = invoke("--kubeconfig", kubeconfig, knob.flag, str(value))
        assert 2 == result.exit_code
        assert f"Invalid value for '{knob.flag}'" in result.output
    assert good == len(started)


def literals(source: str, names: frozenset[str]) -> Iterator[str]:
    """Fields of classes, parameters and click's defaults that are written as a literal though a setting of that name has a default."""

    def written(value: ast.expr | None) -> bool:
        return isinstance(value, ast.Constant) and value.value is not None

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if (
                    isinstance(each, ast.AnnAssign)
                    and isinstance(each.target, ast.Name)
                    and each.target.id in names
                    and written(each.value)
                ):
                    yield f"{node.name}.{each.target.id}"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args]
            defaults = [*zip(arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True)]
            defaults += [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
            yield from (f"{node.name}({each.arg})" for each, value in defaults if each.arg in names and written(value))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "click.option":
            yield from (f"{ast.unparse(node.args[0])}" for each in node.keywords if each.arg == "default" and written(each.value))


def test_every_option_of_the_webhook_server_is_that_of_its_knob_and_has_no_default_of_its_own():
    options = {each.name: each for each in serve.command.params if isinstance(each, click.Option) and each.name != "help"}
    given = {knob.field: knob for knob in of_webhooks.KNOBS if knob.option}

    assert options.keys() == given.keys()
    for field, knob in given.items():
        option = options[field]
        assert ([knob.option], knob.help) == (option.opts, option.help)
        assert not option.get_default(click.Context(serve.command))
    assert {} == serve.as_environment(serve.command.make_context("serve", []).params)


@pytest.mark.parametrize("knob", of_webhooks.KNOBS, ids=lambda each: each.name)
def test_help_and_documentation_of_a_variable_are_those_of_its_knob(knob):
    option, default = (f"`{each}`" if each else "" for each in (knob.option, knob.default))
    told = " ".join((serve.command.epilog or "").split())

    assert (
        f"| `{knob.name}` | {option} | {default} | {knob.reason} |"
        in (document.REFERENCE / "knobs.md").read_text(encoding="utf-8").splitlines()
    )
    assert f"{knob.name}{f' ({knob.option})' if knob.option else ''}, default {knob.default or 'none'} {knob.reason}" in told


@pytest.mark.parametrize("field", ["profile", "kubernetes", "finalizers"])
def test_review_answers_by_default_as_the_server_does(field):
    (knob,) = (each for each in of_webhooks.KNOBS if each.field == field)
    (option,) = (each for each in review.params if each.name == field)

    assert knob.default == option.get_default(click.Context(review))
    if knob.kind.metavar != "VERSION":
        assert isinstance(option.type, click.Choice)
        assert knob.kind.metavar == "|".join(option.type.choices)


NOT_THE_KNOB = {"SchedulerOptions.settle_seconds"}
"""How long a new root waits for members, which no option sets."""


def test_a_default_of_the_sidecar_is_written_once():
    names = frozenset({*KNOBS, *(knob.name for knob in KNOBS.values())})
    files = {*(ROOT / "scheduler_core" / "sidecar").rglob("*.py"), ROOT / "muster" / "commands" / "sidecar.py"}
    files -= {Path(of_sidecar.__file__)}
    again = {each for file in files for each in literals(file.read_text(encoding="utf-8"), names)}

    assert again == NOT_THE_KNOB


def test_a_default_of_the_webhook_server_is_written_once():
    names = frozenset(each.name for each in dataclasses.fields(of_webhooks.Settings))
    files = {*(ROOT / "webhooks").rglob("*.py"), Path(serve.__file__)}

    assert [] == [each for file in files for each in literals(file.read_text(encoding="utf-8"), names)]


@pytest.mark.parametrize(
    ("source", "want"),
    [
        pytest.param("class Options:\n    writers: int = 8", ["Options.writers"], id="a field"),
        pytest.param("class Options:\n    writers: int = Settings.writers", [], id="a field with the default of the setting"),
        pytest.param("def start(first, writers=8): ...", ["start(writers)"], id="a parameter"),
        pytest.param("def start(*, writers=8): ...", ["start(writers)"], id="a parameter by name"),
        pytest.param("def start(writers, other=8): ...", [], id="another parameter"),
        pytest.param("@click.option('--writers', default=8)\ndef start(writers): ...", ["'--writers'"], id="an option"),
        pytest.param("@click.option('--writers', default=None)\ndef start(writers): ...", [], id="an option without a default"),
    ],
)
def test_a_default_that_is_written_again_is_found(source, want):
    assert want == [*literals(source, frozenset({"writers"}))]
