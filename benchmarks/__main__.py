"""Runner of all benchmarks, one after the other, each in its own process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

BENCHMARKS = (
    "bench_pipeline",
    "bench_lint",
    "bench_start",
    "bench_editor",
    "bench_server",
    "bench_memory",
    "bench_placement",
    "bench_growth",
    "bench_load",
    "bench_fit",
    "bench_devices",
    "bench_search",
    "bench_against",
    "bench_compile",
    "bench_remedies",
    "bench_live",
    "bench_informers",
    "bench_shared_claims",
)


def main() -> int:
    """Run the benchmarks and return the number of failed ones."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors\n", flush=True)
    chosen = sys.argv[1:] or BENCHMARKS
    return sum(subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0 for name in chosen)


if __name__ == "__main__":
    sys.exit(main())
