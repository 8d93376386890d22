"""ComputeDomains of NVIDIA, whose controller creates the ResourceClaimTemplate that a ComputeDomain names.

Source: NVIDIA k8s-dra-driver-gpu, cmd/compute-domain-controller and templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from expansion.contents import Content, full_name, namespace_of, parsed
from expansion.created import Cluster, Expansion, identity
from kubeapi.decode import section
from kubeapi.gather import whole_name
from kubeapi.gathered import GatheredObjects
from kubeapi.names import Name
from workloadbuilder.adapters.shared.known_objects import group_of

_TEMPLATE = "ResourceClaimTemplate"
_DOMAIN, _DOMAIN_GROUP = "ComputeDomain", "resource.nvidia.com"
_CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"


def create_claim_templates(result: Expansion, cluster: Cluster) -> None:
    """Add the claim templates that ComputeDomains name and that do not exist yet: the given ones create given objects."""
    existing = {whole_name(each) for kinds in (result.kinds, cluster.kinds) for each in kinds.get(_TEMPLATE, ())}
    for others, created in ((result.others, result.objects), (cluster.others, result.joined)):
        for domain in _domains(others):
            template = _claim_template(domain)
            if template is not None and full_name(template) not in existing:
                existing.add(full_name(template))
                created.append(template)
                if created is result.objects:
                    result.origins[identity(template)] = Name(_DOMAIN, *full_name(domain))


def _domains(others: Iterable[GatheredObjects]) -> Iterator[Content]:
    for each in others:
        if each.kind == _DOMAIN and group_of(each.api_version) == _DOMAIN_GROUP and (content := parsed(each)) is not None:
            yield content


def _claim_template(domain: Content) -> Content | None:
    """Return the template of the claim to a channel of a ComputeDomain; None if it names none."""
    name = section(section(section(domain, "spec"), "channel"), "resourceClaimTemplate").get("name")
    if not isinstance(name, str) or not name:
        return None
    request = {"name": "channel", "exactly": {"deviceClassName": _CHANNEL_CLASS}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": _TEMPLATE,
        "metadata": {"name": name, "namespace": namespace_of(domain)},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
