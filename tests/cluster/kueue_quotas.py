"""Random situations of Kueue's quotas with Kueue's own answers, which the program ``assets/kueue`` gives.

``python -m tests.cluster.kueue_quotas`` draws the situations and records the answers anew in ``tests/cases/kueue/quotas.jsonl.gz``: of each sort
of answer as many as PER_SORT.  A line is a situation with its ``answer``; in that:

- ``inadmissible``: why the Workload is not even nominated, else null; ``inactive``: reason and message of its ClusterQueue's condition Active
- ``mode``: Fit, Preempt or NoFit; ``borrowing``: the height of the cohort that lends, 0 for none; ``fits``: whether all of it fits once more
  after the preemptions, as Kueue checks at the end of its cycle
- ``podSets``: count and flavors, with the mode of each resource; pod sets after one without a flavor are not tried.  ``reasons`` has all that
  Kueue tells; as it tries resources in a random order and stops early, it tells those of ``always`` in any case, the others sometimes
- ``usage``: by flavor and resource, cpu in thousandths; ``preemptionTargets``: what it would preempt, and why
- ``reducedCounts``: the counts of all pod sets if fewer pods than wanted are admitted
"""

from __future__ import annotations

import collections
import gzip
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.cluster import go_tools
from tests.cluster.random_quotas import QuotaDrawing

Json = dict[str, Any]
CASES = Path(__file__).parent.parent / "cases" / "kueue" / "quotas.jsonl.gz"
SEEDS = 6000
PER_SORT = {"Fit": 25, "Preempt": 8, "NoFit": 6, "inadmissible": 3}
_BATCH = 500


def judge(program: Path, situations: Iterable[Json]) -> list[Json]:
    """Return the answers of Kueue to *situations*."""
    lines = "".join(json.dumps(each) + "\n" for each in situations)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def recorded() -> list[Json]:
    """Return the recorded situations, each with its ``answer``."""
    with gzip.open(CASES, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def sort_of(answer: Json) -> tuple[str, ...]:
    """Return what sort of answer it is: its mode with what tells it from others of the same mode."""
    if answer["inadmissible"] is not None:
        return ("inadmissible", re.sub(r"spec\.\S+ ", "", answer["inadmissible"]), *(answer["inactive"] or [])[:1])
    if answer["mode"] == "NoFit":
        told = itertools.chain.from_iterable(each["reasons"] for each in answer["podSets"])
        return ("NoFit", *sorted({_kind_of(reason) for reason in told}))
    targets = {target["reason"] for target in answer.get("preemptionTargets", ())}
    reduced = ["reduced"] if "reducedCounts" in answer else []
    return (answer["mode"], f"borrowing {answer['borrowing']}", *sorted(targets), *reduced)


def _kind_of(reason: str) -> str:
    """Return the first word of a reason, and of those about quotas all words before the resource."""
    return reason.partition(" for ")[0] if reason.startswith("insufficient") else reason.partition(" ")[0]


def drawn(program: Path) -> Iterator[Json]:
    """Yield situations with their answers, of each sort as many as PER_SORT."""
    counts: collections.Counter[tuple[str, ...]] = collections.Counter()
    for first in range(0, SEEDS, _BATCH):
        situations = [QuotaDrawing(seed).situation() for seed in range(first, min(first + _BATCH, SEEDS))]
        for situation, answer in zip(situations, judge(program, situations), strict=True):
            sort = sort_of(answer)
            counts[sort] += 1
            if counts[sort] <= PER_SORT[sort[0]]:
                yield {**situation, "answer": {key: value for key, value in answer.items() if key != "name"}}


def write(cases: Sequence[Json]) -> None:
    """Write the table; equal cases make equal files."""
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in cases)
    CASES.parent.mkdir(parents=True, exist_ok=True)
    CASES.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> int:
    """Record the answers, and print how many there are of each sort."""
    cases = [*drawn(go_tools.build("kueue"))]
    write(cases)
    for sort, count in collections.Counter(sort_of(each["answer"]) for each in cases).most_common():
        print(count, *sort, sep="\t")
    print(f"{len(cases)} cases recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
