"""Runner of all or the named tables: ``python -m benchmarks.cluster [--quick] [rates|decisions|latency|intake|memory|creating|joining|building …]``."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time

from benchmarks.cluster import building, creating, decisions, intake, joining, latency, memory, objects, rates
from benchmarks.cluster.rates import Case, Testbed
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import MissingError

TABLES = ("rates", "decisions", "latency", "intake", "memory", "creating", "joining", "building")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, done in two minutes: no figures to quote")
    parser.add_argument(
        "--only",
        metavar="TEXT",
        default="",
        help="measure only the rates and decisions whose name contains TEXT; all decisions if it is in the name of a rate only",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    given = parser.parse_args()
    if unknown := set(given.tables) - set(TABLES):
        parser.error(f"unknown table {', '.join(sorted(unknown))}; must be one of {', '.join(TABLES)}")
    if not any(given.only in case.name for case in (*_cases(quick=given.quick), *decisions.CASES)):
        parser.error(f"no rate and no decision has {given.only!r} in its name")
    try:
        plane = ControlPlane()
    except MissingError as error:
        parser.error(str(error))
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, Kubernetes 1.37\n", flush=True)
    began = time.monotonic()
    # SIGTERM also stops all processes started here.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with plane:
        _tables(Testbed(plane), given.tables or TABLES, quick=given.quick, only=given.only)
    print(f"{time.monotonic() - began:.0f} s")


def _tables(testbed: Testbed, names: tuple[str, ...] | list[str], *, quick: bool, only: str) -> None:
    nodes = 200 if quick else 5000
    if "rates" in names:
        rates.table(testbed, [case for case in _cases(quick=quick) if only in case.name])
    if "decisions" in names:
        decided = [case for case in decisions.CASES if only in case.name]
        decisions.table(testbed, decided or decisions.CASES, nodes, 50 if quick else 750, 5 if quick else 50)
    if "latency" in names:
        latency.table(testbed, nodes, 10 if quick else 100)
    if "intake" in names:
        intake.table(testbed, 4_000 if quick else 40_000)
    if "memory" in names:
        memory.table(testbed, nodes, 1_000 if quick else 50_000)
    if "creating" in names:
        creating.table(testbed, 3 if quick else 21)
    if "joining" in names:
        joining.table(testbed, 20 if quick else 2_000, 3 if quick else 21)
    if "building" in names:
        building.table(testbed, 50 if quick else 1_000, 1 if quick else 5)


def _cases(*, quick: bool) -> list[Case]:
    if quick:
        return [
            Case("20 gangs of 4 in one rack", objects.gangs(20, 4), 200, 1),
            Case("10 trees of 2 x 4, zone and rack", objects.trees(10, 2, 4), 200, 1),
            Case("20 gangs of 4, no topology", objects.gangs(20, 4, key=""), 200, 1, times=1.0),
        ]
    return [
        Case("750 gangs of 4 in one rack", objects.gangs(750, 4), 1000, 3),
        Case("750 gangs of 4 in one rack", objects.gangs(750, 4), 5000, 3),
        Case("500 trees of 2 x 4, zone and rack", objects.trees(500, 2, 4), 5000, 2),
        Case("750 gangs of 4, no topology", objects.gangs(750, 4, key=""), 5000, 3, times=1.0),
    ]


if __name__ == "__main__":
    main()
