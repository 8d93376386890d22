"""A real Prometheus with alerts of the chart, which reads real servers."""

from __future__ import annotations

import contextlib
import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.process import Process, free_port
from tests.deploy import rendered

Rule = Mapping[str, Any]
INTERVALS = {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "200ms"}


def _rules() -> dict[str, Rule]:
    components = ("prometheus", "prometheus-sidecar")
    files = [(rendered.DEPLOY / "components" / each / "alerts.yaml").read_text(encoding="utf-8") for each in components]
    groups = [group for each in files for group in yaml.safe_load(each)["spec"]["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


ALERTS = _rules()
"""Rules of both components, by the name of the alert."""


def program(name: str) -> str:
    """Return the path of a program; without it the test is skipped."""
    if (result := shutil.which(name)) is None:
        pytest.skip(f"{name} is not installed")
    return result


@contextlib.contextmanager
def watching(folder: Path, rules: Sequence[Rule], *targets: str) -> Iterator[Callable[[], set[str]]]:
    """Run Prometheus with *rules*, which reads *targets* (HOST:PORT); yields a function that returns the firing alerts."""
    port = free_port()
    groups = [{"name": rule["alert"], "rules": [rule]} for rule in rules]
    (folder / "alerts.yaml").write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    scraped = {"job_name": "muster", "static_configs": [{"targets": [*targets]}]}
    configuration = {"global": INTERVALS, "rule_files": ["alerts.yaml"], "scrape_configs": [scraped]}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")

    def firing() -> set[str]:
        """Return the alerts; none while Prometheus does not listen yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/alerts", timeout=10) as answer:
                return {each["labels"]["alertname"] for each in json.load(answer)["data"]["alerts"] if each["state"] == "firing"}
        except OSError:
            return set()

    process = Process("prometheus", folder / "prometheus.log")
    storage = f"--storage.tsdb.path={folder / 'data'}"
    process.start([program("prometheus"), f"--config.file={folder / 'prometheus.yaml'}", storage, f"--web.listen-address=127.0.0.1:{port}"])
    try:
        yield firing
    finally:
        process.stop()


def at_once(*names: str) -> list[Rule]:
    """Return these alerts without their waiting times, so that a test takes seconds."""
    return [{**ALERTS[name], "for": "0s"} for name in names]
