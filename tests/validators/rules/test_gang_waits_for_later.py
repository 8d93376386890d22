"""Words about gangs of which a part is created later."""

from __future__ import annotations

import pytest

from tests.validators.rules.test_every_rule import linted
from validators.rules.base import Example

JOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {schedulingPolicy: {minAvailable: MINIMUM}}
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {}}}
    Worker: {replicas: WORKERS, template: {spec: {}}}
"""


@pytest.mark.parametrize(("workers", "words"), [(1, "2: 1 is created first, and 1 ("), (4, "5: 4 are created first, and 1 (")])
def test_pods_that_are_created_first_are_one_or_several(workers: int, words: str) -> None:
    text = JOB.replace("MINIMUM", str(workers + 1)).replace("WORKERS", str(workers))
    (finding,) = [each.error for each in linted(Example(text)) if each.error.origin == "gang-waits-for-later"]

    assert f"must not require {words}" in str(finding)
