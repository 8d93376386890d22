"""Small clusters whose pods request all devices of a node."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.scheduler_core.exact.devices.small_clusters import Cluster, Device, Pod, Pool, Request, Spec


@st.composite
def clusters_with_all(draw: st.DrawFn) -> Cluster:
    """Draw two nodes with few devices, and pods of which most request all devices; slices of pools can be missing."""
    rack = {"n0": "r0", "n1": "r1"}
    pools = []
    for name in rack:
        shares = draw(st.integers(0, 2)) == 0
        devices = [
            Device(
                f"d{number}",
                draw(st.sampled_from("xy")),
                draw(st.sampled_from((0, 0, None))),
                tainted=draw(st.integers(0, 5)) == 0,
                capacity=4 if shares else 0,
            )
            for number in range(draw(st.sampled_from((1, 2, 2, 3))))
        ]
        pools.append(Pool(f"pool-{name}", "kubernetes.io/hostname", name, tuple(devices)))
        if draw(st.integers(0, 2)) == 0:
            pools.append(Pool(f"more-{name}", "kubernetes.io/hostname", name, (Device("d0", "x", 0),), incomplete=draw(st.booleans())))
    pods = []
    for number in range(draw(st.integers(1, 2))):
        classes = draw(st.sampled_from([("gpu",), ("x",), ("x", "gpu"), ("numa0", "gpu")]))
        count, amount = draw(st.sampled_from((0, 0, 0, 1))), draw(st.sampled_from((0, 4, 2))) if any(map(_is_shared, pools)) else 0
        pods.append(Pod(f"p{number}", "g0", [Spec((Request("r0", classes, count, draw(st.booleans()), amount),))], []))
    taken = [(pool, each) for pool in pools for each in pool.devices if not each.capacity and draw(st.integers(0, 2)) == 0]
    held: list[tuple[str, tuple[str, ...]]] = [(f"{pool.name}/{each.name}", ()) for pool, each in taken]
    return Cluster(rack, pools, pods, {}, held, {"g0": draw(st.integers(1, len(pods)))}, [])


def _is_shared(pool: Pool) -> bool:
    return any(each.capacity for each in pool.devices)
