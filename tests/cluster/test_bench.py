"""``make bench-cluster`` in small: the sidecar, kube-scheduler and bindings alone are measured, and nothing is left.

Of the rates, one is measured by default, all of them in `make soak`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.cluster.decisions import CASES
from tests.sampling import WHOLE

ROOT = Path(__file__).parents[2]
RATES = ["20 gangs of 4 in one rack", "10 trees of 2 x 4, zone and rack", "20 gangs of 4, no topology"]
SECONDS = 270
"""It runs for half a minute where nothing else does."""


def test_rates_and_latency_are_measured_next_to_kube_scheduler(programs, tmp_path):
    names = RATES if WHOLE else RATES[1:2]
    only = [] if WHOLE else ["--only", *names]
    command = [sys.executable, "-m", "benchmarks.cluster", "--quick", *only, "rates", "decisions", "latency"]
    place = {**os.environ, "TMPDIR": str(tmp_path), "KUBEBUILDER_ASSETS": str(programs.folder)}
    done = subprocess.run(command, env=place, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)

    assert 0 == done.returncode, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if re.match(r"\| \d", line)]
    rates, latencies = rows[: len(names)], rows[len(names) :]
    assert names == [row[0] for row in rates]
    assert all(float(cell.replace(",", "")) > 0 for row in rates for cell in (row[2], row[3], row[5]))
    assert ["sidecar", "kube-scheduler"] == [row[2] for row in latencies]
    decisions = [line.split("|") for line in done.stdout.splitlines() if line.startswith(tuple(f"| {case.name}" for case in CASES))]
    assert [case.name for case in CASES] == [row[1].strip() for row in decisions]
    assert all(float(cell.replace(",", "")) > 0 for row in decisions for cell in row[3:6])
    assert [] == list(tmp_path.iterdir())
