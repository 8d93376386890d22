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
from validators.options import Address, Option
from webhooks import settings as of_webhooks

__all__ = ["kubeconfig", "started"]

ROOT = Path(__file__).parents[2]
SIDECAR = of_sidecar.OPTIONS
CLICK_OPTIONS = {each.name: each for each in sidecar.params}
BOUNDED = [(option, low, high) for option in SIDECAR.values() if option.type.bounds is not None for low, high in (option.type.bounds,)]
PAGE = (document.REFERENCE / "settings.md").read_text(encoding="utf-8")


def shown_default(option: Option) -> str:
    """The default of an option, as its documentation has it."""
    return f"`{option.default}`" if option.default else option.unset


@pytest.mark.parametrize("declared", [of_sidecar, of_webhooks], ids=["sidecar", "webhooks"])
def test_every_setting_has_an_option_and_every_default_text_is_the_default(declared):
    assert {each.name for each in dataclasses.fields(declared.Settings)} == declared.OPTIONS.keys()
    for field, option in declared.OPTIONS.items():
        if option.default:
            assert option.type.parse([option.default]) == getattr(declared.Settings(), field)


def test_every_option_of_the_sidecar_is_that_of_a_setting():
    assert [*SIDECAR] == [each.name for each in sidecar.params if each.name != "help"]


def test_without_options_the_settings_are_their_defaults(started, kubeconfig):
    invoke("--kubeconfig", kubeconfig)
    found = started[0][1]

    assert of_sidecar.Settings(kubeconfig=kubeconfig, identity=found.identity) == found


@pytest.mark.parametrize("declared", SIDECAR.values(), ids=lambda each: each.name)
def test_help_and_documentation_of_an_option_are_declared_once(declared):
    option = CLICK_OPTIONS[declared.field]
    assert isinstance(option, click.Option)
    purpose = (declared.purpose or declared.help).replace("|", chr(92) + "|")

    assert f"| `{declared.variable}` | `{declared.long}` | {shown_default(declared)} | {purpose} |" in PAGE.splitlines()
    assert (declared.flag.split("/"), declared.variable) == ([*option.opts, *option.secondary_opts], option.envvar)
    assert (option.help or "").startswith(declared.help)
    shown = option.get_help_extra(click.Context(sidecar)).get("default")
    assert bool(declared.default) is (shown is not None)
    if shown is not None and not declared.type.is_flag:
        assert declared.default == shown


@pytest.mark.parametrize(("option", "low", "high"), BOUNDED, ids=[option.flag for option, *_ in BOUNDED])
def test_both_bounds_of_a_number_hold(started, kubeconfig, option, low, high):
    for value in (low, high):
        assert 0 == invoke("--kubeconfig", kubeconfig, option.flag, str(value)).exit_code
        assert 0 == invoke("--kubeconfig", kubeconfig, **{option.variable: str(value)}).exit_code
    good = len(started)
    for value in (low - 1, high + 1):
        result = invoke("--kubeconfig", kubeconfig, option.flag, str(value))
        assert 2 == result.exit_code
        assert f"Invalid value for '{option.flag}'" in result.output
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


def test_every_option_of_the_webhook_server_is_declared_and_has_no_default_of_its_own():
    options = {each.name: each for each in serve.command.params if isinstance(each, click.Option) and each.name != "help"}
    given = {field: option for field, option in of_webhooks.OPTIONS.items() if option.flag}

    assert options.keys() == given.keys()
    for field, declared in given.items():
        option = options[field]
        assert ([declared.flag], declared.help) == (option.opts, option.help)
        assert option.get_default(click.Context(serve.command)) is None
    assert {} == serve.given_values(serve.command.make_context("serve", []).params)


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["--objects", "a", "--objects", "b"], {"objects": ("a", "b"), "cluster": False}, id="objects"),
        pytest.param(["--cluster"], {"cluster": True, "objects": ()}, id="cluster"),
        pytest.param(["--cluster", "--objects", "a"], {"cluster": True, "objects": ("a",)}, id="both"),
        pytest.param(["--rule", "a=off", "--rule", "b=error"], {"rules": (("a", "off"), ("b", "error"))}, id="rules"),
        pytest.param(["--workers", "3", "--kubernetes", "1.36"], {"workers": 3, "kubernetes": 36}, id="numbers"),
        pytest.param(["--bind", "[::1]:443"], {"bind": Address("::1", 443)}, id="address"),
    ],
)
def test_options_of_the_webhook_server_are_values_of_settings(arguments, want):
    assert want == serve.given_values(serve.command.make_context("serve", arguments).params)


@pytest.mark.parametrize("option", of_webhooks.OPTIONS.values(), ids=lambda each: each.variable)
def test_help_and_documentation_of_a_variable_are_declared_once(option):
    flag, default = (f"`{each}`" if each else "" for each in (option.flag, option.default))
    text, shown = option.purpose or option.help, " ".join((serve.command.epilog or "").split())

    assert f"| `{option.variable}` | {flag} | {default} | {text} |" in PAGE.splitlines()
    assert f"{option.variable}{f' ({option.flag})' if option.flag else ''}, default {option.default or 'none'} {text}" in shown


@pytest.mark.parametrize("field", ["profile", "kubernetes", "finalizers"])
def test_review_answers_by_default_as_the_server_does(field):
    declared = of_webhooks.OPTIONS[field]
    (option,) = (each for each in review.params if each.name == field)

    assert declared.default == option.get_default(click.Context(review))
    assert isinstance(option.type, click.Choice)
    assert declared.type.choices == tuple(option.type.choices)


NOT_AN_OPTION = {"SchedulerOptions.settle_seconds"}
"""How long a new root waits for members, which no option sets."""


def test_a_default_of_the_sidecar_is_written_once():
    names = frozenset({*SIDECAR, *(option.name for option in SIDECAR.values())})
    files = {*(ROOT / "scheduler_core" / "sidecar").rglob("*.py"), ROOT / "muster" / "commands" / "sidecar.py"}
    files -= {Path(of_sidecar.__file__)}
    again = {each for file in files for each in literals(file.read_text(encoding="utf-8"), names)}

    assert again == NOT_AN_OPTION


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
