"""Results of building by object, and their numbers."""

from __future__ import annotations

from scheduler_core.causes.built_groups import GroupsRefused, NotBuiltReason
from scheduler_core.sidecar.building.build_results import BuildResult, BuildResults

JOB, OTHER, JOBSET = (("batch", "Job"), ("ml", "a")), (("batch", "Job"), ("ml", "b")), (("jobset.x-k8s.io", "JobSet"), ("ml", "a"))


def test_an_object_counts_once_with_its_last_result():
    results = BuildResults()
    results.set(JOB, BuildResult.REFUSED, GroupsRefused("quota"))
    results.set(OTHER, BuildResult.BUILT)
    results.set(JOBSET, NotBuiltReason.SUSPENDED)
    results.set(JOB, BuildResult.BUILT)

    assert {("Job", "refused"): 0, ("Job", "built"): 2, ("JobSet", "suspended"): 1} == results.counts()
    assert (BuildResult.BUILT, None) == results.get(JOB)


def test_what_is_gone_does_not_count():
    results = BuildResults()
    results.set(JOB, BuildResult.BUILT)
    results.set(OTHER, BuildResult.BUILT)
    results.forget(JOB)
    results.forget(JOB)

    assert ({("Job", "built"): 1}, None) == (results.counts(), results.get(JOB))
    results.forget_all()
    assert {("Job", "built"): 0} == results.counts()
