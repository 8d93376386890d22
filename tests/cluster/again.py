"""Run again, alone, the few tests on a control plane that failed beside others: ``python -m tests.cluster.again``, after `make test`.

There five processes share the processors with API servers and controllers of other projects, some of which give up after seconds.  A fault of
Muster fails here too, and the run fails with it; what passes is named last, with its first report above, so that nobody overlooks it.
A test that needs no control plane gets no second attempt, and neither do more than ``MOST``: then something is wrong.  Nor do those of
``SEARCHING``, which look for rare faults: one that shows itself once is there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cluster.conftest import CLUSTER

FAILED = Path(__file__).parents[2] / ".pytest_cache" / "v" / "cache" / "lastfailed"
"""Written by pytest: the names of the tests that failed, as keys."""
MOST = 3
SEARCHING = tuple(
    f"{CLUSTER}test_{name}"
    for name in ("build_crash", "sidecar_bad_days", "sidecar_crash", "sidecar_takeover", "soak", "two_sidecars", "webhooks_down", "worlds")
)
"""Beginnings of the names of tests that kill, part and mislead programs."""


def refusal(failed: list[str]) -> str:
    """Return why the tests get no second attempt; empty if they get one."""
    if not failed:
        return "no test of the last run failed: what failed was before the tests"
    if others := [name for name in failed if not name.startswith(CLUSTER) or "::" not in name]:
        return f"not on a control plane: {', '.join(others)}"
    if rare := [name for name in failed if name.startswith(SEARCHING)]:
        return f"one that looks for rare faults: {', '.join(rare)}"
    return f"{len(failed)} failed, more than {MOST}" if len(failed) > MOST else ""


def main() -> int:
    """Return 0 if all of them pass now."""
    failed = sorted(json.loads(FAILED.read_text(encoding="utf-8"))) if FAILED.exists() else []
    if why := refusal(failed):
        print(f"no second attempt: {why}", file=sys.stderr)
        return 1
    status = subprocess.run([sys.executable, "-m", "pytest", *failed], check=False).returncode
    if status == 0:
        print("passed alone, after a failure beside others:", *failed, sep="\n  ", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
