"""Jobs with and without scheduling."""

from __future__ import annotations

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  parallelism: 4
  template: {spec: {containers: [{name: main, image: train}]}}
"""
GANG = JOB + "  scheduling: {schedulingPolicy: {gang: {}}}\n"


def with_scheduling(text: str, job: str = JOB) -> str:
    return f"{job}  scheduling: {text}\n"
