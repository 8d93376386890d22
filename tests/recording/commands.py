"""Answers of the commands: help, case tables, the demonstration's files, mistakes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
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
REPORTS = ("text", "json", "sarif", "junit", "github", "gitlab", "markdown")
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
_FITTED = (
    ("demo/placement/training.yaml", "demo/placement"),
    ("cases/fit/job.yaml", "cases/fit/cluster.yaml"),
    ("cases/fit", "demo/placement"),
)
FIT = tuple(
    f"{path} --objects {cluster} --format {form}{options}"
    for path, cluster in _FITTED
    for form in ("text", "json", "html")
    for options in ("", " --all", " --gang --strategy greedy", " --remedies 0 --rank-order off")
)
TOPOLOGY = tuple(
    f"{keys}--objects {cluster} --format {form}{options}"
    for keys in ("", "topology.kubernetes.io/zone ")
    for cluster in ("demo/placement", "cases/clusters")
    for form in ("text", "json")
    for options in ("", " --verbose")
)
DOCTOR = tuple(
    f"{path} --format {form}"
    for path in ("deploy/base", "deploy/sidecar", "deploy/base deploy/sidecar", "deploy/base deploy/sidecar --ignore ca-bundle-missing")
    for form in ("text", "json")
)
_FOLDED = re.compile(r"\s+")


def answer(line: str, stdin: str | None = None) -> str:
    """Return exit status, standard output and standard error of one command line."""
    result = CliRunner().invoke(cli.main, shlex.split(line), input=stdin, terminal_width=100)
    failed = "" if result.exception is None or isinstance(result.exception, SystemExit) else f"raised {result.exception!r}\n"
    return f"$ muster {line}\nexit {result.exit_code}\n{failed}-- stdout\n{result.stdout}\n-- stderr\n{result.stderr}\n"


def items(part: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each answer whose name begins with *part*."""
    groups: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
        "help": lambda: _answers(
            ["--help", *(f"{each} --help" for each in COMMANDS), *(f"certs {each} --help" for each in ("issue", "inspect", "rotate"))]
        ),
        "mistakes": lambda: _answers(MISTAKES),
        "lint": _lint_cases,
        "lint-gates": lambda: _answers([f"lint cases/lint --format json {gates}" for gates in GATES]),
        "lint-reports": lambda: _answers([f"lint cases/lint/cycle-of-three demo/manifests --format {report}" for report in REPORTS]),
        "lint-more": lambda: _answers(
            ["lint demo/manifests --rule gang-minimum=warning --rule template-depth=off", "lint --quiet demo/manifests"]
        ),
        "review": _reviews,
        "simulate": lambda: _answers([f"simulate demo/placement {options}" for options in SIMULATE]),
        "snapshot": lambda: _answers([f"snapshot demo/placement {options}" for options in ("", "--format json", "--redact --salt s")]),
        "compile": _compiled,
        "migrate": _migrated,
        "explain": _explained,
        "tree": lambda: _answers([f"tree demo/manifests --format {form}" for form in ("text", "json")]),
        "schema": lambda: _answers(
            ["schema --building-blocks", "schema --building-blocks --format json", *(f"schema {kind}" for kind in field_docs.KINDS)]
        ),
        "fit": lambda: _answers([f"fit {arguments}" for arguments in FIT]),
        "topology": lambda: _answers([f"topology {arguments}" for arguments in TOPOLOGY]),
        "doctor": lambda: _answers([f"doctor {arguments}" for arguments in DOCTOR]),
    }
    for group, answers in groups.items():
        prefix = f"commands/{group}/"
        if prefix.startswith(part) or part.startswith(prefix):
            yield from ((f"{prefix}{name}", text) for name, text in answers())


def _answers(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        yield _FOLDED.sub("_", line).replace("/", "."), answer(line)


def _lint_cases() -> Iterator[tuple[str, str]]:
    for case in sorted(Path("cases/lint").iterdir()):
        lines = [f"lint {case}/input --format json {profile} {version}" for profile in PROFILES for version in VERSIONS]
        yield case.name, "".join(map(answer, lines))


def _reviews() -> Iterator[tuple[str, str]]:
    table = [case for (case,) in (each.values for each in test_admission_cases.variants()) if case["track"] == "v1.37"]
    lines = b"".join(test_admission_cases.request_of(case) + b"\n" for case in table).decode()
    Path("admission.jsonl").write_text(lines, encoding="utf-8")
    for name in ("cases/reviews.jsonl", "admission.jsonl"):
        for path in ("/validate", "/mutate", "/admit"):
            rest = [(profile, gates) for profile in PROFILES for gates in GATES]
            yield from _answers(f"review {name} --path {path} {profile} {gates}" for profile, gates in rest)
        yield from _answers(f"review {name} {version} --finalizers all" for version in VERSIONS)


def _compiled() -> Iterator[tuple[str, str]]:
    for form in ("", "--groups", "--groups --pods", "--explain", "--format json --groups --pods"):
        sources = sorted(str(each) for each in Path("cases/compile").iterdir() if ".out." not in each.name)
        yield from _answers(f"compile {each} {form}" for each in [*sources, "cases/clusters/jobset/jobset.yaml"])
    yield from _answers(["compile cases/clusters/jobset --groups --pods", "compile demo/manifests cases/compile"])


def _migrated() -> Iterator[tuple[str, str]]:
    for case in sorted(Path("cases/lint").iterdir()):
        lines = [f"migrate {case}/input", f"migrate {case}/input --diff --format json"]
        yield case.name, "".join(map(answer, lines))


def _explained() -> Iterator[tuple[str, str]]:
    names = json.loads(CliRunner().invoke(cli.main, ["explain", "--format", "json"]).stdout)
    rules = sorted(set(re.findall(r'"(?:rule|id)": "([a-z0-9-]+)"', json.dumps(names))))
    yield from _answers(["explain", "explain --format json", *(f"explain {each}" for each in rules)])
