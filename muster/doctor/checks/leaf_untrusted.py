"""The caBundle of every webhook trusts the certificate that every replica of its server serves."""

from __future__ import annotations

from collections.abc import Iterator

from certs import pem_bundle
from muster.doctor.entries import by_configuration, entries, fields_of
from muster.doctor.finding import Check, Result, Unseen, error
from muster.doctor.leaves import is_foreign, leaves, rotate_command
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each leaf and configuration without trust."""
    known = [*leaves(world)]
    for leaf in known:
        trusting = [each for each in leaf.entries if pem_bundle.certificates(each.ca_bundle)]
        for listed in by_configuration(each for each in trusting if leaf.distrust(each)):
            other = "; something else may answer there" if is_foreign(world, leaf) else ""
            message = f"does not trust the certificate of {leaf.source}: {leaf.distrust(listed[0])}{other}"
            yield error(listed[0].item, fields_of(listed, "clientConfig.caBundle"), message, rotate_command(world, listed[0]))
    targets = {each.target for leaf in known for each in leaf.entries}
    for target in sorted({each.target for each in entries(world)} - targets):
        yield Unseen(f"no certificate of {target} is known")


CHECK = Check(
    id="leaf-untrusted",
    why="The API server ends the handshake with that replica, so its share of the reviews fails.",
    examine=check,
)
