"""What all plugins share: normalised scores, and which refusals an eviction can remove."""

from __future__ import annotations

import types

import numpy as np
import pytest

from scheduler_core.plugins.base import StatefulPlugin, StaticPlugin, normalised
from scheduler_core.plugins.claim_allocation import ClaimAllocation
from scheduler_core.plugins.volume_binding import VolumeMatching


@pytest.mark.parametrize(
    ("scores", "reverse", "want"),
    [
        ([0, 1, 3], False, [0, 33, 100]),
        ([0, 1, 3], True, [100, 67, 0]),
        ([0, 0], False, [0, 0]),
        ([0, 0], True, [100, 100]),
    ],
)
def test_scores_are_scaled_to_the_largest(scores, reverse, want):
    """pkg/scheduler/framework/plugins/helper, DefaultNormalizeScore."""
    assert want == normalised(np.array(scores, dtype=np.int64), reverse=reverse).tolist()


def test_no_eviction_removes_a_refusal_that_depends_on_shape_and_node_alone():
    """framework.UnschedulableAndUnresolvable, as NodeAffinity, TaintToleration and NodeUnschedulable return it."""
    assert not StaticPlugin.resolvable("node(s) didn't match Pod's node affinity/selector")


def test_a_plugin_that_does_not_say_otherwise_may_bind_any_two_pods_and_is_not_helped_by_evictions():
    pods = types.SimpleNamespace(), types.SimpleNamespace()

    assert StatefulPlugin.binds(types.SimpleNamespace(), *pods)
    assert not ClaimAllocation.evictions_help.fget(types.SimpleNamespace())


@pytest.mark.parametrize(
    ("node", "volumes", "want"),
    [(-1, (True, True), True), (-1, (True, False), False), (-1, (False, True), False), (3, (True, True), False)],
)
def test_volumes_bind_two_pods_that_both_have_some_unless_the_first_is_placed(node, volumes, want):
    plugin = types.SimpleNamespace(touches=lambda pod: pod.has_volumes)
    pod, other = types.SimpleNamespace(node=node, has_volumes=volumes[0]), types.SimpleNamespace(has_volumes=volumes[1])

    assert want is VolumeMatching.binds(plugin, pod, other)
