"""``muster help``, ``muster version``, and lists with commas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from muster import cli
from tests.muster.simulated import node
from tests.muster.test_fit import saved


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, [*arguments], prog_name="muster")


@pytest.mark.parametrize("words", [(), *((name,) for name in ("fit", "lint", "certs", "help", "version")), ("certs", "issue")])
def test_help_is_that_of_the_command(words: tuple[str, ...]) -> None:
    answer = run("help", *words)
    assert (0, "", run(*words, "--help").stdout) == (answer.exit_code, answer.stderr, answer.stdout)
    assert answer.stdout.startswith(" ".join(("Usage: muster", *words)))


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (("fti",), "muster: No such command 'fti'. Did you mean 'fit'? (see 'muster --help')\n"),
        (("certs", "isue"), "muster certs: No such command 'isue'. Did you mean 'issue'? (see 'muster certs --help')\n"),
        (("fit", "x"), "muster help: muster fit has no command 'x' (see 'muster help --help')\n"),
    ],
)
def test_a_command_that_does_not_exist_has_no_help(words: tuple[str, ...], want: str) -> None:
    answer = run("help", *words)
    assert (2, "", want) == (answer.exit_code, answer.stdout, answer.stderr)


def test_the_version_is_that_of_the_option() -> None:
    assert (0, run("--version").stdout) == (run("version").exit_code, run("version").stdout)
    assert "Did you mean 'version'?" in run("versoin").stderr
    assert {"help", "version"} <= {each.split()[0] for each in run("--help").stdout.splitlines() if each.strip()}


TWO = "gang-minimum,template-depth"


@pytest.fixture
def bad(folder: Path) -> str:
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    (folder / "g.json").write_text(json.dumps({**group, "spec": {"schedulingPolicy": {"gang": {"minCount": 0}}}}), encoding="utf-8")
    return "g.json"


def test_rules_are_separated_by_commas(bad: str) -> None:
    assert (1, "gang-minimum") == (
        run("lint", bad, "--select", TWO).exit_code,
        rules(run("lint", bad, "--select", TWO, "--format", "json")),
    )
    assert rules(run("lint", bad, "--select", "template-depth", "--select", "gang-minimum", "--format", "json")) == "gang-minimum"
    assert 0 == run("lint", bad, "--ignore", TWO).exit_code
    assert (
        "--select: there is no rule 'gang-minimun'; did you mean gang-minimum"
        in run("lint", bad, "--select", "gang-minimun,template-depth").stderr
    )


def rules(answer: Result) -> str:
    return ",".join(each["rule"] for each in json.loads(answer.stdout)["findings"])


@pytest.mark.usefixtures("folder")
def test_resources_and_checks_are_separated_by_commas() -> None:
    text = run("topology", "--objects", saved("nodes.json", [node("n1")]), "--resource", "pods,cpu").stdout
    assert ["nodes", "pods", "cpu"] == text.splitlines()[0].split()
    assert "--ignore: there is no check 'x'" in run("doctor", "nodes.json", "--ignore", "leaf-names,x").stderr
