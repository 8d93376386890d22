"""Answers of the commands: help, case tables, the demonstration's files, mistakes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from muster import cli
from tests.webhooks import test_admission_cases
from validators.reports import field_docs

COMMANDS = (
    "lint",
    "lsp",
    "tree",
    "explain",
    "compile",
    "schema",
    "migrate",
    "review",
    "simulate",
    "fit",
    "why",
    "topology",
    "snapshot",
    "serve",
    "sidecar",
    "certs",
    "doctor",
    "demo",
)
PROFILES = ("--profile kep", "--profile upstream")
VERSIONS = ("--kubernetes 1.35", "--kubernetes 1.36", "--kubernetes 1.37", "--kubernetes 1.38")
NO_COMPOSITES, NO_TOPOLOGY = "--gates CompositePodGroup=false", "--gates CompositePodGroup=false,TopologyAwareWorkloadScheduling=false"
GATES = ("", NO_COMPOSITES, NO_TOPOLOGY, "--gates DRAWorkloadResourceClaims=false,PodGroupPreemptionPolicy=false")
REPORTS = ("text", "json", "sarif", "junit", "github", "markdown")
MISTAKES = (
    "nonsense",
    "--nonsense",
    "lint nowhere",
    "lint --format nonsense .",
    "lint --rule nonsense=off .",
    "lint --rule x .",
    "lint --gates X=true .",
    "lint --gates GenericWorkload=false,CompositePodGroup=true demo",
    "explain nonsense",
    "review nowhere",
    "simulate",
    "simulate nowhere",
    "simulate demo/placement --strategy best",
    "simulate demo/placement --order nothing",
    "simulate demo/placement --drain nothing",
    "simulate demo/placement --add-nodes x",
    "simulate demo/placement --plugin nothing",
    "simulate demo/manifests",
    "topology",
    "topology nowhere --objects demo/placement",
    "topology --objects nowhere",
    "compile nowhere",
    "compile demo/placement",
    "migrate nowhere",
    "snapshot nowhere",
    "snapshot --salt x demo/placement",
    "serve",
    "serve --bind nonsense",
    "serve --workers 0",
    "sidecar --mode nonsense",
    "serve --certificates x",
    "serve --certificates managed --tls-cert x",
    "serve --certificates managed --kubeconfig nowhere",
    "certs inspect nowhere",
    "certs rotate --days 0",
    "certs rotate --kubeconfig nowhere",
    "certs rotate --namespace a/b",
    "certs rotate --replica x",
    "certs rotate --name a_b",
    "schema nonsense",
    "why",
    "why train --explain nonsense",
    "doctor",
    "doctor nowhere",
    "doctor demo/manifests",
)
SIMULATE = (
    "",
    "--verbose",
    "--format json",
    "--format html",
    "--format json --strategy greedy",
    "--format json --remedies",
    "--format text --remedies",
    "--format html --remedies --evict",
    "--format json --evict",
    "--format text --fragmentation",
    "--format json --fragmentation",
    "--format json --every-pod --nominated-first --four-statuses --preempt-for-leftovers",
    "--format json --scheduler-name nobody",
    "--format json --budget 1",
    f"--format json {NO_TOPOLOGY}",
    f"--format json {NO_COMPOSITES}",
    "--format json --kubernetes 1.38",
    "--format text --no-color --ignore x",
)
_FOLDED = re.compile(r"\s+")


def answer(line: str, stdin: str | None = None) -> str:
    """Return exit status, standard output and standard error of one command line."""
    result = CliRunner().invoke(cli.main, shlex.split(line), input=stdin, terminal_width=100)
    failed = "" if result.exception is None or isinstance(result.exception, SystemExit) else f"raised {result.exception!r}\n"
    return f"$ muster {line}\nexit {result.exit_code}\n{failed}-- stdout\n{result.stdout}\n-- stderr\n{result.stderr}\n"


def items(_part: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each answer."""
    yield from _named(
        "help", ["--help", *(f"{each} --help" for each in COMMANDS), *(f"certs {each} --help" for each in ("issue", "inspect", "rotate"))]
    )
    yield from _named("mistakes", MISTAKES)
    yield from _lint()
    yield from _review()
    yield from _named("simulate", [f"simulate demo/placement {options}" for options in SIMULATE])
    yield from _named("snapshot", [f"snapshot demo/placement {options}" for options in ("", "--format json", "--redact --salt s")])
    yield from _compile_and_migrate()
    names = json.loads(CliRunner().invoke(cli.main, ["explain", "--format", "json"]).stdout)
    rules = sorted(set(re.findall(r'"(?:rule|id)": "([a-z0-9-]+)"', json.dumps(names))))
    yield from _named("explain", ["explain", "explain --format json", *(f"explain {each}" for each in rules)])
    yield from _named("tree", [f"tree demo/manifests --format {form}" for form in ("text", "json")])
    yield from _named(
        "schema", ["schema --building-blocks", "schema --building-blocks --format json", *(f"schema {kind}" for kind in field_docs.KINDS)]
    )


def _named(group: str, lines: list[str] | tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for line in lines:
        yield f"commands/{group}/{_FOLDED.sub('_', line).replace('/', '.')}", answer(line)


def _lint() -> Iterator[tuple[str, str]]:
    for case in sorted(Path("cases/lint").iterdir()):
        lines = [f"lint {case}/input --format json {profile} {version}" for profile in PROFILES for version in VERSIONS]
        yield f"commands/lint/{case.name}", "".join(map(answer, lines))
    yield from _named("lint-gates", [f"lint cases/lint --format json {gates}" for gates in GATES])
    yield from _named("lint-reports", [f"lint cases/lint/cycle-of-three demo/manifests --format {report}" for report in REPORTS])
    yield from _named(
        "lint-more", ["lint demo/manifests --rule gang-minimum=warning --rule template-depth=off", "lint --quiet demo/manifests"]
    )


def _review() -> Iterator[tuple[str, str]]:
    table = [parameter.values[0] for parameter in test_admission_cases.variants()]
    lines = b"".join(test_admission_cases.request_of(case) + b"\n" for case in table).decode()
    Path("admission.jsonl").write_text(lines, encoding="utf-8")
    for name in ("cases/reviews.jsonl", "admission.jsonl"):
        for path in ("/validate", "/mutate", "/admit"):
            rest = [(profile, gates) for profile in PROFILES for gates in GATES]
            yield from _named("review", [f"review {name} --path {path} {profile} {gates}" for profile, gates in rest])
        yield from _named("review", [f"review {name} {version} --finalizers all" for version in VERSIONS])


def _compile_and_migrate() -> Iterator[tuple[str, str]]:
    for form in ("", "--groups", "--groups --pods", "--explain", "--format json --groups --pods"):
        sources = sorted(str(each) for each in Path("cases/compile").iterdir() if ".out." not in each.name)
        yield from _named("compile", [f"compile {each} {form}" for each in [*sources, "cases/clusters/jobset/jobset.yaml"]])
    yield from _named("compile", ["compile cases/clusters/jobset --groups --pods", "compile demo/manifests cases/compile"])
    for case in sorted(Path("cases/lint").iterdir()):
        lines = [f"migrate {case}/input", f"migrate {case}/input --diff --format json"]
        yield f"commands/migrate/{case.name}", "".join(map(answer, lines))
