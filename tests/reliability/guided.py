"""Coverage-guided texts for parsers, by Atheris (libFuzzer): a text that reaches a new branch is kept, and changed further.

libFuzzer ends its process with the first failure, so a check runs in one of its own:
``python -m tests.reliability.guided MODULE:FUNCTION [OPTION...]``.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cluster.programs import MissingError
from tests.reliability.campaign import Campaign, Round

TREE = Path(__file__).parents[2]
KEPT = TREE / ".guided"
"""Texts of earlier runs that reached something new, by check."""
RUNS = 20_000
"""Texts for one check in a round: less than a minute."""
LONGEST = 1_500
SECONDS = 10
"""Limit of one text."""
CHECKS = {"yaml": "tests.validators.lint.both_parsers:check", "cel": "tests.reliability.expressions:check_parsed"}
"""Functions of a text that raise what does not hold."""
_INSTRUMENTED = ["scheduler_core.cel", "tests.reliability.test_guided", "validators.lint"]
_exception = re.compile(r"=== Uncaught Python exception: ===\n(.*)")


def main(check: str, *options: str) -> None:
    """Run a check with options of libFuzzer; do not return."""
    atheris: Any = importlib.import_module("atheris")
    module, _, name = check.partition(":")
    with atheris.instrument_imports(include=_INSTRUMENTED):
        function = getattr(importlib.import_module(module), name)
    atheris.Setup([sys.argv[0], *options], lambda data: function(data.decode("utf-8", "replace")))
    atheris.Fuzz()


def attacked(check: str, seed: int, texts: Sequence[bytes], folder: Path, runs: int = RUNS) -> tuple[str, ...]:
    """Run a check in a process, from *texts* and those of earlier runs in *folder*; return what failed, with its text."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(texts):
        (folder / f"given-{number}").write_bytes(content)
    with tempfile.TemporaryDirectory() as found:
        options = [f"-seed={seed}", f"-runs={runs}", f"-max_len={LONGEST}", f"-timeout={SECONDS}", f"-artifact_prefix={found}/"]
        command = [sys.executable, "-m", "tests.reliability.guided", check, *options, str(folder)]
        done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, errors="replace", check=False)
        examples = [each.read_bytes() for each in sorted(Path(found).iterdir())]
    if not done.returncode:
        return ()
    said = match[1] if (match := _exception.search(done.stdout + done.stderr)) else done.stderr[-300:]
    return (f"{check}: {said}; example: {examples}",)


def run(seed: int) -> Round:
    """Give each check ``RUNS`` texts.  Raises MissingError if Atheris is not installed, which has no package for some machines."""
    from tests.reliability import corpus, expressions

    if importlib.util.find_spec("atheris") is None:
        raise MissingError("the package atheris is not installed")
    given = {
        "yaml": [each for each in corpus.texts() if len(each) <= LONGEST],
        "cel": [each.text.encode() for each in expressions.recorded()],
    }
    return Round(RUNS * len(CHECKS), tuple(each for name in CHECKS for each in attacked(CHECKS[name], seed, given[name], KEPT / name)))


CAMPAIGN = Campaign(
    "guided",
    "coverage-guided texts for the parsers of YAML and CEL",
    f"the fast parser of YAML gives the values and places of the other, only the documented errors, an end within {SECONDS} s",
    1_000_000,
    run,
)


if __name__ == "__main__":
    main(*sys.argv[1:])
