"""Alerts about leaders in a real Prometheus, which reads real sidecars; without their waiting times."""

from tests.cluster.process import free_port
from tests.cluster.sidecars import sidecar
from tests.cluster.waiting import until
from tests.deploy.watching import at_once, watching

WITHOUT, TWO = "MusterSidecarWithoutLeader", "MusterSidecarTwoLeaders"


def test_two_leaders_and_none_are_reported(plane, tmp_path):
    """Sidecars of one scheduler name that do not share a Lease compete for its pods; one with a name of its own does not."""
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    mine, other, second = (("--probe-bind", each, "--identity", f"pod-{each}") for each in addresses)
    alone = ("--lease", "none")
    with watching(tmp_path, at_once(WITHOUT, TWO), *addresses) as firing:
        until(lambda: firing() == {WITHOUT})
        with (
            sidecar(plane, tmp_path, *mine, fork=True),
            sidecar(plane, tmp_path, *other, *alone, "--scheduler-name", "other", fork=True),
        ):
            until(lambda: firing() == set())
            with sidecar(plane, tmp_path, *second, *alone, fork=True):
                until(lambda: firing() == {TWO})
            until(lambda: firing() == set())
        until(lambda: firing() == {WITHOUT})
