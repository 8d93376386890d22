"""PodGroups of Jobs: which Jobs the Job controller of each version manages."""

from __future__ import annotations

from typing import Any

import pytest

from validators.hierarchy.job_groups import job_groups
from validators.model import objects

SCHEDULING = {"schedulingPolicy": {"gang": {}}}
OWNED = {"ownerReferences": [{"apiVersion": "a/v1", "kind": "A", "name": "a", "uid": "u", "controller": True}]}
DELEGATED = {"annotations": {"scheduling.k8s.io/workload-name": "w", "scheduling.k8s.io/group-template-name": "t"}}


def job(**metadata: Any) -> dict[str, Any]:
    return {"kind": "Job", "metadata": {"name": "j", **metadata}, "spec": {"scheduling": SCHEDULING, "template": {"spec": {}}}}


def cron_job(**metadata: Any) -> dict[str, Any]:
    return {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": {"metadata": metadata, "spec": job()["spec"]}}}


@pytest.mark.parametrize(
    ("content", "before", "after"),
    [
        pytest.param(job(), ["spec.scheduling"], ["spec.scheduling"], id="a Job"),
        pytest.param(job(**OWNED), [], ["spec.scheduling"], id="a Job with an owner"),
        pytest.param(job(**DELEGATED), ["spec.scheduling"], [], id="a Job that names a Workload"),
        pytest.param(cron_job(), [], ["spec.jobTemplate.spec.scheduling"], id="the Jobs of a CronJob"),
        pytest.param(cron_job(**DELEGATED), [], [], id="the Jobs of a CronJob that name a Workload"),
    ],
)
def test_groups_are_those_of_the_job_controller(content: dict[str, Any], before: list[str], after: list[str]) -> None:
    item = objects.decode_kind(content["kind"], content)

    assert before == [str(each.path) for each in job_groups(item, 37)]
    assert after == [str(each.path) for each in job_groups(item, 38)]
