"""Every webhook has a caBundle with at least one certificate."""

from __future__ import annotations

from collections.abc import Iterator

from certs import pem_bundle
from muster.doctor.components import SERVE, components
from muster.doctor.entries import INJECTED, by_configuration, entries, fields_of
from muster.doctor.finding import Check, Result, error
from muster.doctor.leaves import trust_command
from muster.doctor.manifests import mapping_at
from muster.doctor.world import World


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with a webhook without certificates."""
    managed = not world.live and any(each.manages_certificate for each in components(world, SERVE))
    for listed in by_configuration(each for each in entries(world) if not pem_bundle.certificates(each.ca_bundle)):
        injected = mapping_at(listed[0].item.content, "metadata", "annotations").keys() & {*INJECTED}
        if not world.live and (injected or managed):
            continue
        names = ", ".join(each.name for each in listed)
        command = (
            "cmctl check api && kubectl -n cert-manager logs deployment/cert-manager-cainjector"
            if injected
            else trust_command(world, listed[0])
        )
        message = f"has no PEM certificate for {names}"
        yield error(listed[0].item, fields_of(listed, "clientConfig.caBundle"), message, command)


CHECK = Check(
    id="ca-bundle-missing",
    why="The API server trusts no certificate of the server, so every review fails.",
    examine=check,
)
