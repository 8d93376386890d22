"""Every replica, with all its processes, serves the certificate of its Secret, or all the same one."""

from __future__ import annotations

from collections.abc import Iterator

from certs import pem_bundle
from certs.store import CERTIFICATE
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.leaves import leaves, restart_command, secret_data, secret_names, secrets
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each replica that serves another certificate."""
    expected = {
        each.target: (pem_bundle.certificates(secret_data(secret, CERTIFICATE))[:1], secret.label)
        for secret, concerned in secrets(world)
        for each in concerned
    }
    if world.live:
        for namespace, name in secret_names(world):
            if world.named("Secret", namespace, name) is None:
                yield Unseen(f"the Secret {namespace}/{name} cannot be read: what replicas serve is not compared with it")
    observed = [(each.target, each.address) for each in world.replicas if each.leaf]
    for leaf in leaves(world):
        if leaf.replica is None:
            continue
        served = pem_bundle.certificates(leaf.chain)[:1]
        # The first replica stands for its server if there is no Secret.
        wanted, source = expected.setdefault(leaf.replica.target, (served, leaf.source))
        if wanted and served != wanted:
            some = observed.count((leaf.replica.target, leaf.replica.address)) > 1
            server = f"a process of {leaf.source}" if some else leaf.source
            than = "another process of it" if source == leaf.source else source
            yield warning(leaf.item, "", f"{server} serves another certificate than {than}", restart_command(world, leaf))


CHECK = Check(
    id="leaf-stale",
    why="The replica has not loaded the new certificate: its reviews fail once the old one expires or its CA is removed from caBundle.",
    examine=check,
)
