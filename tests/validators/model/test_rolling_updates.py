"""Rolling updates by their own numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validators.model.rolling_updates import VOLCANO_MINIMUM, new_before_ready, volcano_minimum


@pytest.mark.parametrize(
    ("kind", "spec", "want"),
    [
        ("Deployment", {"replicas": 2}, 1),
        ("Deployment", {"replicas": 8}, 4),
        ("Deployment", {"replicas": 4, "strategy": {"type": "Recreate"}}, 4),
        ("Deployment", {"replicas": 4, "strategy": {"rollingUpdate": {"maxSurge": "300%"}}}, 4),
        ("Deployment", {"replicas": 4, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}, 1),
        ("Deployment", {"replicas": 4, "paused": True}, None),
        ("Deployment", {}, None),
        ("StatefulSet", {"replicas": 4}, None),
        ("StatefulSet", {"replicas": 4, "podManagementPolicy": "Parallel"}, 1),
        (
            "StatefulSet",
            {"replicas": 5, "podManagementPolicy": "Parallel", "updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}},
            2,
        ),
        ("StatefulSet", {"replicas": 4, "podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}}, None),
        ("DaemonSet", {}, 1),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 3}}}, 3),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}}, 2),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}}, None),
        ("LeaderWorkerSet", {}, 1),
        ("LeaderWorkerSet", {"replicas": 4, "rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": 1, "maxUnavailable": 2}}}, 3),
        ("LeaderWorkerSet", {"replicas": 4, "startupPolicy": "LeaderReady"}, None),
        ("ReplicaSet", {"replicas": 4}, None),
    ],
)
def test_new_units_before_one_is_ready(kind, spec, want):
    assert want == new_before_ready(kind, spec)


@pytest.mark.parametrize(
    ("kind", "written", "template", "want"),
    [
        ("Deployment", "2", {"spec": {"schedulerName": "volcano"}}, 2),
        ("DaemonSet", "3", {"spec": {"schedulerName": "volcano"}}, 3),
        ("Job", "2", {"spec": {"schedulerName": "volcano"}}, 1),
        ("Deployment", "2", {"spec": {}}, 1),
        ("Deployment", "-2", {"spec": {"schedulerName": "volcano"}}, 1),
        ("Deployment", "two", {"spec": {"schedulerName": "volcano"}}, 1),
        ("Deployment", "9" * 5000, {"spec": {"schedulerName": "volcano"}}, 1),
        (
            "Deployment",
            "2",
            {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "mine"}}, "spec": {"schedulerName": "volcano"}},
            1,
        ),
    ],
)
def test_the_minimum_of_volcano(kind, written, template, want):
    assert want == volcano_minimum(kind, {VOLCANO_MINIMUM: written}, template)
    assert 1 == volcano_minimum(kind, {}, template)


FIELDS = st.sampled_from(["replicas", "strategy", "updateStrategy", "rollingUpdate", "maxSurge", "maxUnavailable"])
ANYTHING = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.dictionaries(FIELDS, inner))


@given(spec=st.dictionaries(FIELDS, ANYTHING))
def test_the_number_is_never_negative(spec):
    numbers = [new_before_ready(kind, {"podManagementPolicy": "Parallel", **spec}) for kind in ("Deployment", "StatefulSet", "DaemonSet")]
    assert all(each is None or each >= 0 for each in numbers)
