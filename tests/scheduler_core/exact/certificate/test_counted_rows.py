"""What the rows of nodes count, as a certificate explains it."""

from __future__ import annotations

import pytest

from scheduler_core.cluster.load import load
from scheduler_core.exact.certificate.counted_rows import counted_volumes
from tests.scheduler_core.builders import node
from tests.scheduler_core.plugins.test_delayed_claims import claim, storage_class, using, volume


@pytest.mark.parametrize(
    ("provisioner", "counted"),
    [("kubernetes.io/no-provisioner", [{"volumes": ["pv"]}]), ("csi.example", [])],
    ids=["without a provisioner", "with one"],
)
def test_volumes_are_counted_if_no_other_can_be_provisioned(provisioner, counted):
    objects = [node("n"), storage_class("x", provisioner), volume("pv", "n", storageClassName="x"), claim(storage_class="x"), using("c")]

    assert counted == [*counted_volumes(load(objects).nodes).values()]
