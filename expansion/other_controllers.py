"""What controllers outside of Kubernetes do about pods that others create: claim templates of ComputeDomains, pod groups of Kueue.

NVIDIA's DRA driver creates the ResourceClaimTemplate that a ComputeDomain names.  Kueue admits the pods of a pod group when as many pods
exist as they say.

Sources: NVIDIA k8s-dra-driver-gpu, cmd/compute-domain-controller and templates; Kueue, "Run a group of Pods as a single unit".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from expansion.contents import Content, full_name, namespace_of, parsed, section
from expansion.created import Cluster, Expansion, identity
from expansion.notes import KueueGroupIncomplete
from kubeapi.gather import whole_name
from kubeapi.gathered import GatheredObjects
from kubeapi.kueue import POD_GROUP, POD_GROUP_TOTAL
from kubeapi.names import Name
from kubeapi.problem import Problem
from workloadbuilder.adapters.shared.known_objects import group_of

_TEMPLATE = "ResourceClaimTemplate"
_DOMAIN, _DOMAIN_GROUP = "ComputeDomain", "resource.nvidia.com"
_CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
_LABEL = POD_GROUP.encode()


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


def incomplete_kueue_groups(result: Expansion, cluster: Cluster) -> Iterator[Problem]:
    """Yield the pod groups of Kueue with given or created pods of which fewer pods exist than they say: Kueue admits none of the pods."""
    own = {identity(each): each for each in (*_members(result.kinds["Pod"]), *result.objects) if each["kind"] == "Pod"}
    pods = {identity(each): each for each in _members(cluster.kinds.get("Pod", ()))} | own
    groups: dict[tuple[str, str], list[Name]] = {}
    for name, pod in pods.items():
        group = section(section(pod, "metadata"), "labels").get(POD_GROUP)
        if isinstance(group, str) and group and section(pod, "status").get("phase") != "Failed":
            groups.setdefault((name.namespace, group), []).append(name)
    for (_, group), members in groups.items():
        total = max(_total(pods[each]) for each in members)
        if len(members) < total and not own.keys().isdisjoint(members):
            yield Problem(KueueGroupIncomplete(group, len(members), total), tuple(members))


def _members(pods: Iterable[GatheredObjects]) -> Iterator[Content]:
    for each in pods:
        content = parsed(each) if _LABEL in bytes(each.text) else None
        if content is not None and section(content, "metadata").get("name"):
            yield content


def _total(pod: Content) -> int:
    """Return the number of pods that a pod says its group has; 0 if it says none."""
    text = str(section(section(pod, "metadata"), "annotations").get(POD_GROUP_TOTAL, ""))
    return int(text) if text.isdecimal() else 0
