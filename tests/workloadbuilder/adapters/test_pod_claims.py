"""Claims that LeaderWorkerSets and JobSets create for their pods, and the volumes of the pods."""

from __future__ import annotations

import pytest

from tests.workloadbuilder.adapters.compiling import names, sound

SPEC = "{accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}"
CONTAINER = "{name: main, image: i, volumeMounts: [{name: data, mountPath: /data}]}"
LWS = f"""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: serve, namespace: shop}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {{spec: {{containers: [{CONTAINER}]}}}}
    volumeClaimTemplates:
    - {{metadata: {{name: data}}, spec: {SPEC}}}
"""
JOBSET = f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: train, namespace: shop}}
spec:
  volumeClaimPolicies:
  - templates: [{{metadata: {{name: data}}, spec: {SPEC}}}]
  replicatedJobs:
  - {{name: reads, template: {{spec: {{template: {{spec: {{containers: [{CONTAINER}]}}}}}}}}}}
  - {{name: other, template: {{spec: {{template: {{spec: {{containers: [{{name: main, image: i}}]}}}}}}}}}}
"""
EXISTING = f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: NAME, namespace: shop}}
spec: {SPEC}
"""
OF_PODS = {name: f"data-{name}" for name in ("serve-0", "serve-0-1", "serve-1", "serve-1-1")}


def mounted(result):
    pods = [each for each in result.objects if each["kind"] == "Pod"]
    return {
        each["metadata"]["name"]: [volume["persistentVolumeClaim"]["claimName"] for volume in each["spec"].get("volumes", ())]
        for each in pods
    }


CASES = {
    "a LeaderWorkerSet": (LWS, {pod: [claim] for pod, claim in OF_PODS.items()}, [*OF_PODS.values()]),
    "a JobSet": (JOBSET, {"train-reads-0-0": ["data-train"], "train-other-0-0": []}, ["data-train"]),
}


@pytest.mark.parametrize(("text", "volumes", "claims"), CASES.values(), ids=CASES)
def test_pods_have_the_claims_that_are_created(text, volumes, claims):
    result = sound(text, groups=True, pods=True)
    assert (volumes, claims) == (mounted(result), names(result, "PersistentVolumeClaim"))


@pytest.mark.parametrize(("text", "volumes", "claims"), CASES.values(), ids=CASES)
def test_claims_that_exist_are_not_created(text, volumes, claims):
    result = sound(text, further=EXISTING.replace("NAME", claims[0]), groups=True, pods=True)
    assert (volumes, claims[1:]) == (mounted(result), names(result, "PersistentVolumeClaim"))


@pytest.mark.parametrize("text", [LWS, JOBSET], ids=CASES)
def test_without_pods_there_are_no_claims(text):
    assert [] == names(sound(text, groups=True), "PersistentVolumeClaim")
