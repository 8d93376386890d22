"""Time to compile 1,000 JobSets: in memory, and by a ``muster compile`` process from file to file."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import measure
from muster.render import yaml_text
from workloadbuilder.adapters.compiled import CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known

COUNT, ROUNDS = 1_000, 5
SECONDS = 2.0
WANTED = {"Workload": CompileOptions(), "and groups": CompileOptions(groups=True), "and pods": CompileOptions(groups=True, pods=True)}
FLAGS = {"Workload": (), "and groups": ("--groups",), "and pods": ("--groups", "--pods")}


def main() -> None:
    """Measure and print."""
    jobsets = [jobset(number) for number in range(COUNT)]
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        file = Path(name) / "jobsets.yaml"
        file.write_text("---\n".join(map(yaml_text.dump, jobsets)), encoding="utf-8")
        runs = {what: functools.partial(measure.seconds, functools.partial(_compile, jobsets, each), 1) for what, each in WANTED.items()}
        whole = {
            f"{what}, process": functools.partial(measure.seconds, functools.partial(_run, file, each), 1) for what, each in FLAGS.items()
        }
        rounds = measure.in_turns({**runs, **whole}, ROUNDS)
    rows = []
    for what in WANTED:
        command = rounds.median(f"{what}, process")
        rows.append(
            [
                what,
                f"{rounds.median(what):.2f} s",
                f"{command:.2f} s",
                f"{SECONDS:.0f} s: {measure.verdict(command, SECONDS, at_least=False)}",
            ]
        )
    columns = ("made", "in memory", "`muster compile`, YAML to YAML", "limit of the command")
    measure.table(f"{COUNT:,} JobSets of two replicated jobs, 3 Jobs and 9 pods each", columns, rows)


def jobset(number: int) -> dict[str, Any]:
    """Return a JobSet: a driver and two Jobs of four workers, each Job a gang in a rack, all in a zone."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": f"train-{number}", "namespace": "research"},
        "spec": {
            "scheduling": {
                "schedulingPolicy": {"gang": {}},
                "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]},
            },
            "replicatedJobs": [
                {"name": "driver", "replicas": 1, "template": {"spec": _job(1, {"cpu": "1"})}},
                {
                    "name": "workers",
                    "replicas": 2,
                    "template": {
                        "spec": {
                            **_job(4, {"cpu": "8", "nvidia.com/gpu": "8"}),
                            "scheduling": {
                                "schedulingPolicy": {"gang": {}},
                                "schedulingConstraints": {"topology": [{"key": "topology.example/rack"}]},
                            },
                        }
                    },
                },
            ],
        },
    }


def _job(pods: int, requests: dict[str, str]) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example/train:1", "resources": {"requests": requests}}
    return {"parallelism": pods, "completions": pods, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}


def _compile(jobsets: list[dict[str, Any]], options: CompileOptions) -> None:
    known = Known(jobsets)
    for each in jobsets:
        compile_object(each, known, options)


def _run(file: Path, flags: tuple[str, ...]) -> None:
    command = [str(Path(sys.executable).parent / "muster"), "compile", *flags, str(file)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
