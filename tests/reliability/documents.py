"""Mutated YAML and JSON documents, given to commands in this process as a user gives them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from click.testing import CliRunner, Result

from muster import cli
from tests.reliability import corpus
from tests.reliability.campaign import Campaign, Round
from tests.reliability.fuzzing import DoesNotHoldError, Memory, attempt
from tests.reliability.mutations import Mutator

SECONDS = 20.0
"""Limit of one call; the slowest documents need one second on an idle machine."""
STATUSES = {**dict.fromkeys(("fit", "simulate", "why"), frozenset({0, 1, 2})), "snapshot": frozenset({0, 2})}
"""Documented statuses; of all other commands 0 to 3."""
FOLDER = Path(os.environ.get("TMPDIR", tempfile.gettempdir()))
CASES = corpus.TREE / "tests/cases/fit"
OPTIONS: dict[str, tuple[str, ...]] = {
    "lint": (
        *("", "--profile upstream", "--kubernetes 1.38", "--statistics", "--fix --diff --unsafe-fixes", "--format json", "--format sarif"),
        *("--format github", "--format gitlab", "--format junit", "--format markdown"),
    ),
    "compile": (
        *("", "--groups", "--pods", "--delegated", "--build", "--explain", "--format json", "--api scheduling.muster.dev"),
        *("--version v1alpha3", "--kubernetes 1.38"),
    ),
    "migrate": ("", "--diff", "--to v1alpha3", "--to scheduling.muster.dev", "--format json", "--in-place"),
    "fit": (
        *("", "--all -v", "--gang", "--gang --topology topology.kubernetes.io/zone", "--strategy greedy", "--scale", "--format json"),
        *("--format html", "--kubernetes 1.38", f"{CASES / 'job.yaml'} --objects"),
    ),
    "simulate": (
        *("", "--evict", "--strategy greedy", "--fragmentation", "--format json", "--format html", "--kubernetes 1.38", "--four-statuses"),
        *("--nominated-first", "--budget 50", "--remedies 0", "--format json --evict", "--rank-order off", "--timings", "--batch"),
    ),
    "tree": ("", "--format json", "--profile upstream", "--kubernetes 1.38"),
    "snapshot": ("", "--redact", "--format jsonl", "--redact --salt a"),
}
"""Options of a command, of which each call has one; the last of fit makes the documents a part of the cluster."""
JSON_FORMATS = frozenset({"--format json", "--format sarif", "--format gitlab"})

Command = Callable[[Path, Sequence[str]], Sequence[str]]
"""Return the arguments for the files in a folder, with options."""


def documents(seed: int, count: int) -> Iterator[bytes]:
    """Yield mutated documents: in one half bytes are changed, in the other the structure of one to three objects."""
    mutator = Mutator(seed, corpus.objects())
    chance = mutator.random
    for _ in range(count):
        if chance.random() < 0.5:
            yield mutator.data(chance.choice(corpus.texts()))
            continue
        changed = [mutator.value(chance.choice(corpus.objects())) for _ in range(chance.randint(1, 3))]
        yield _written(changed, yaml_too=chance.random() < 0.3)


def _written(objects: Sequence[object], *, yaml_too: bool) -> bytes:
    if yaml_too:
        # Half of a surrogate pair and deep values cannot be written as YAML.
        with contextlib.suppress(yaml.YAMLError, UnicodeEncodeError, RecursionError):
            return yaml.dump_all(objects, Dumper=yaml.CSafeDumper, allow_unicode=True).encode()
    return "\n".join(json.dumps(each) for each in objects).encode()


def invoke(arguments: Sequence[str]) -> Result:
    """Run a command; raise what it raises, other than its exit."""
    result = CliRunner().invoke(cli.main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in STATUSES.get(arguments[0], range(4)):
        raise DoesNotHoldError(f"status {result.exit_code}")
    if "Traceback (most recent call last)" in result.output or "\x1b" in result.output:
        raise DoesNotHoldError(f"a traceback or an escape in the output: {result.output[-300:]!r}")
    return result


def campaign(name: str, command: Command, goal: int, examples: int, batch: int = 1) -> Campaign:
    """Return the campaign of a command, which is called with *batch* files at a time."""
    memory = Memory()

    def run(seed: int, count: int = examples) -> Round:
        with tempfile.TemporaryDirectory(prefix="muster-fuzz-", dir=FOLDER) as folder:
            check = functools.partial(_check, command, Path(folder))
            done = attempt(_calls(name, seed, count, batch), check, SECONDS, memory)
        return Round(count, done.failures)

    return Campaign(
        name,
        f"mutated documents for `muster {name}`",
        f"no traceback, a documented exit status, an end within {SECONDS:g} s, memory does not grow",
        goal,
        run,
    )


class Call(NamedTuple):
    """Call of a command with options on documents."""

    options: str
    contents: tuple[bytes, ...]


def _calls(name: str, seed: int, count: int, size: int) -> Iterator[Call]:
    """Yield calls with *size* documents each, and *count* documents in all."""
    chance, given = random.Random(seed), documents(seed, count)
    while batch := tuple(itertools.islice(given, size)):
        yield Call(chance.choice(OPTIONS[name]), batch)


def _check(command: Command, folder: Path, call: Call) -> None:
    """Run the command on a batch; if it fails, on each document alone, so that the failure names one."""
    try:
        _run(command, folder, call)
    except Exception:
        for each in call.contents if len(call.contents) > 1 else ():
            _alone(command, folder, call._replace(contents=(each,)))
        raise


def _alone(command: Command, folder: Path, call: Call) -> None:
    try:
        _run(command, folder, call)
    except Exception as error:
        raise DoesNotHoldError(f"{type(error).__name__}: {error}; {call}") from error


def _run(command: Command, folder: Path, call: Call) -> None:
    for old in folder.iterdir():
        old.unlink()
    for number, content in enumerate(call.contents):
        name = "json" if content.lstrip()[:1] in (b"{", b"[") else "yaml"
        (folder / f"{number:04}.{name}").write_bytes(content)
    arguments = command(folder, call.options.split())
    result = invoke(arguments)
    # The report of migrate is on standard error.
    if arguments[0] != "migrate" and call.options in JSON_FORMATS and result.stdout.strip():
        json.loads(result.stdout)


def _paths(folder: Path) -> list[str]:
    return [str(each) for each in sorted(folder.iterdir())]


CAMPAIGNS = (
    campaign("lint", lambda folder, options: ["lint", "--no-config", "--jobs", "1", *options, str(folder)], 1_000_000, 4_000, batch=40),
    campaign("compile", lambda folder, options: ["compile", *options, *_paths(folder)], 100_000, 1_000),
    campaign("migrate", lambda folder, options: ["migrate", *options, *_paths(folder)], 100_000, 1_000),
    campaign("fit", lambda folder, options: ["fit", "--objects", str(CASES / "cluster.yaml"), *options, *_paths(folder)], 20_000, 250),
    campaign(
        "simulate", lambda folder, options: ["simulate", str(CASES / "cluster.yaml"), *options, *_paths(folder)], 100_000, 4_000, batch=2
    ),
    campaign("tree", lambda folder, options: ["tree", "--no-config", *options, str(folder)], 100_000, 8_000, batch=10),
    campaign("snapshot", lambda folder, options: ["snapshot", *options, *_paths(folder)], 100_000, 8_000, batch=10),
)
