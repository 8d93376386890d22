"""Random situations of Kueue's quotas and topologies with Kueue's own answers, which the program ``assets/kueue`` gives.

``python -m tests.cluster.kueue_quotas`` draws the situations and records the answers anew, in ``tests/cases/kueue``: of each sort of answer as many
as the table has.  A line is a situation with its ``answer``; in that:

- ``inadmissible``: why the Workload is not even nominated, else null; ``inactive``: reason and message of its ClusterQueue's condition Active
- ``mode``: Fit, Preempt or NoFit; ``borrowing``: the height of the cohort that lends, 0 for none; ``fits``: whether all of it fits once more
  after the preemptions, as Kueue checks at the end of its cycle
- ``podSets``: count and flavors, with the mode of each resource; pod sets after one without a flavor are not tried.  ``reasons`` has all that
  Kueue tells; as it tries resources in a random order and stops early, it tells those of ``always`` in any case, the others sometimes.
  ``message`` is the whole text, absent if it is not always the same
- ``usage``: by flavor and resource, cpu in thousandths; ``preemptionTargets``: what it would preempt, and why
- ``reducedCounts``: the counts of all pod sets if fewer pods than wanted are admitted
"""

from __future__ import annotations

import collections
import dataclasses
import gzip
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cluster import go_tools
from tests.cluster.random_quotas import QuotaDrawing
from tests.cluster.random_topologies import TopologyDrawing

Json = dict[str, Any]
_FOLDER = Path(__file__).parent.parent / "cases" / "kueue"
_BATCH = 500


@dataclasses.dataclass(frozen=True)
class Table:
    """Situations that a class draws from seeds below ``seeds``, and the number that is kept of each sort by the first word of the sort."""

    drawing: type[QuotaDrawing | TopologyDrawing]
    file: Path
    seeds: int
    per_sort: Mapping[str, int]


QUOTAS = Table(QuotaDrawing, _FOLDER / "quotas.jsonl.gz", 6000, {"Fit": 25, "Preempt": 8, "NoFit": 6, "inadmissible": 3})
TOPOLOGIES = Table(TopologyDrawing, _FOLDER / "topologies.jsonl.gz", 1500, {"Fit": 8, "Preempt": 4, "NoFit": 4, "inadmissible": 4})
TABLES = (QUOTAS, TOPOLOGIES)


def judge(program: Path, situations: Iterable[Json]) -> list[Json]:
    """Return the answers of Kueue to *situations*."""
    lines = "".join(json.dumps(each) + "\n" for each in situations)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def recorded(table: Table = QUOTAS) -> list[Json]:
    """Return the recorded situations of *table*, each with its ``answer``."""
    with gzip.open(table.file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def sort_of(case: Json) -> tuple[str, ...]:
    """Return what sort of situation it is: the mode of its answer with what tells it from others of the same mode."""
    answer = case["answer"]
    if answer["inadmissible"] is not None:
        return ("inadmissible", re.sub(r"spec\.\S+ ", "", answer["inadmissible"]), *(answer["inactive"] or [])[:1])
    asked = {key for each in case["workload"]["spec"]["podSets"] for key in each.get("topologyRequest", ())}
    if answer["mode"] == "NoFit":
        told = itertools.chain.from_iterable(each["reasons"] for each in answer["podSets"])
        return ("NoFit", *sorted({_kind_of(reason) for reason in told} | asked))
    targets = {target["reason"] for target in answer.get("preemptionTargets", ())}
    reduced = ["reduced"] if "reducedCounts" in answer else []
    return (answer["mode"], f"borrowing {answer['borrowing']}", *sorted(targets | asked), *reduced)


def _kind_of(reason: str) -> str:
    """Return the first word of a reason, and of those about quotas all words before the resource."""
    return reason.partition(" for ")[0] if reason.startswith("insufficient") else reason.partition(" ")[0]


def drawn(table: Table, program: Path) -> Iterator[Json]:
    """Yield situations with their answers, of each sort as many as the table has."""
    counts: collections.Counter[tuple[str, ...]] = collections.Counter()
    for first in range(0, table.seeds, _BATCH):
        situations = [table.drawing(seed).situation() for seed in range(first, first + _BATCH)]
        for situation, answer in zip(situations, judge(program, situations), strict=True):
            case = {**situation, "answer": {key: value for key, value in answer.items() if key != "name"}}
            sort = sort_of(case)
            counts[sort] += 1
            if counts[sort] <= table.per_sort[sort[0]]:
                yield case


def write(table: Table, cases: Iterable[Json]) -> None:
    """Write the table; equal cases make equal files."""
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in cases)
    table.file.parent.mkdir(parents=True, exist_ok=True)
    table.file.write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> int:
    """Record the answers, and print how many there are of each sort."""
    program = go_tools.build("kueue")
    for table in TABLES:
        cases = [*drawn(table, program)]
        write(table, cases)
        for sort, count in collections.Counter(map(sort_of, cases)).most_common():
            print(count, *sort, sep="\t")
        print(f"{len(cases)} cases in {table.file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
