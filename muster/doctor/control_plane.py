"""Version, feature gates and served APIs of kube-apiserver and kube-scheduler, from their pods.

A control plane that kubeadm has set up has a pod for each program; a hosted one shows none.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping

from kubeapi.versions import kubernetes_releases, served_versions
from kubeapi.versions.api_versions import STABLE, ApiVersion
from muster.doctor.components import SIDECAR, components
from muster.doctor.entries import entries
from muster.doctor.manifests import Manifest, mappings_at, text_at, texts_at
from muster.doctor.world import ApiServer, Item, World
from validators.gates import NEEDS
from validators.reports import custom_resources

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""Programs of the control plane that have feature gates."""
APPLY_DEFINITIONS = "kubectl apply --server-side --force-conflicts -k deploy/custom-resources"
"""Command that creates or replaces the definitions of custom resources."""
_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.|\b)")
_TRUE = frozenset({"true", "1", "t"})


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """Program of the control plane: its pod, minor version (0 if the image does not have it) and flags.

    Flags whose value is a list of assignments have all their values joined by commas.
    """

    item: Item
    minor: int
    flags: Mapping[str, str]

    def switches(self) -> dict[str, bool]:
        """Return the feature gates that its flags name."""
        return _switches(self.flags.get("feature-gates", ""))

    def gates(self) -> dict[str, bool]:
        """Return the feature gates that Muster reads; those that no flag names are off, as in Kubernetes 1.37."""
        switches = self.switches()
        default = switches.get("AllAlpha", False) and switches.get("AllBeta", False)
        return {name: switches.get(name, default) for name in NEEDS}


def programs(world: World, name: str) -> Iterator[Program]:
    """Yield the running programs of this *name*: ``kube-scheduler``."""
    for item in world.of_kind("Pod"):
        for container in mappings_at(item.content, "spec", "containers"):
            image, _, tag = text_at(container, "image").partition("@")[0].rpartition(":")
            if (image or tag).rpartition("/")[2] == name and text_at(item.content, "status", "phase") not in ("Succeeded", "Failed"):
                version = _VERSION.match(tag) if image else None
                words = [*texts_at(container, "command"), *texts_at(container, "args")]
                yield Program(item, int(version[1]) if version else 0, _flags(words))


def observed_api_server(world: World) -> ApiServer | None:
    """Return the facts of the API server: as observed, else by the flags of its pod; None if neither is known."""
    if world.api_server is not None:
        return world.api_server
    program = next(programs(world, "kube-apiserver"), None)
    if program is None:
        return None
    switches = _switches(program.flags.get("runtime-config", ""))
    served = {
        (row.name, served_versions.resource(each.kind).resource)
        for row in served_versions.workload_versions()
        for each in row.kinds
        if not row.form.custom and _serves(switches, row) and each.since <= (program.minor or each.since) <= each.until
    }
    served |= {(f"{group}/{text_at(version, 'name')}", plural) for group, plural, version in _defined(world)}
    return ApiServer(program.minor, frozenset("/".join(each) for each in served), program.gates())


def definitions(world: World) -> Iterator[Item]:
    """Yield the CustomResourceDefinitions of the kinds of Muster."""
    names = {each["metadata"]["name"] for each in custom_resources.definitions()}
    return (each for each in world.of_kind("CustomResourceDefinition") if each.name in names)


def uses_custom(world: World, server: ApiServer) -> bool:
    """Return whether groups are custom resources, or can be nothing else because no flag is known to serve the built-in kinds.

    Then feature gates and kube-scheduler do not concern them.
    """
    if server.resources is None:
        return False
    resource = served_versions.resource("PodGroup").resource
    custom = {row.form.custom for row in served_versions.versions_of("PodGroup") if f"{row.name}/{resource}" in server.resources}
    can_serve = any(programs(world, "kube-apiserver")) and (server.minor or kubernetes_releases.TODAY) >= kubernetes_releases.TODAY
    return False not in custom and (True in custom or not can_serve)


def _defined(world: World) -> Iterator[tuple[str, str, Manifest]]:
    """Yield group, plural and each served version of the definitions."""
    for item in definitions(world):
        group, plural = text_at(item.content, "spec", "group"), text_at(item.content, "spec", "names", "plural")
        yield from ((group, plural, each) for each in mappings_at(item.content, "spec", "versions") if each.get("served") is True)


def _serves(switches: Mapping[str, bool], row: ApiVersion) -> bool:
    """Return whether ``--runtime-config`` enables a version; by default, stable versions are on."""
    default = switches.get(f"api/{row.stage}", switches.get("api/all", row.stage == STABLE))
    return switches.get(row.name, default)


def _flags(words: list[str]) -> dict[str, str]:
    flags: dict[str, str] = {}
    for number, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        if not equals and number + 1 < len(words) and not words[number + 1].startswith("--"):
            value = words[number + 1]
        flags[name] = f"{flags[name]},{value}" if name in flags else value
    return flags


def _switches(text: str) -> dict[str, bool]:
    """Return the assignments of ``A=true,B=false``; an API without a value is on."""
    pairs = (each.strip().partition("=") for each in text.split(",") if each.strip())
    return {name: not equals or value.lower() in _TRUE for name, equals, value in pairs}


def needing_item(world: World) -> Item | None:
    """Return the object to name in a result about the API server: its pod in files, else what needs it; None if there is nothing."""
    program = next(programs(world, "kube-apiserver"), None)
    if program is not None and not world.live:
        return program.item
    entry = next(entries(world), None)
    sidecar = next(components(world, SIDECAR), None)
    return entry.item if entry else sidecar.item if sidecar else None


def flag_command(program: str, flag: str) -> str:
    """Return the command that adds a flag to a static pod of the control plane, on its node."""
    file = f"/etc/kubernetes/manifests/{program}.yaml"
    return rf"sudo sed -i 's#^\( *\)- {program}$#&\n\1- {flag}#' {file}"


def without_gate_command(program: str, gate: str) -> str:
    """Return the command that takes a gate out of the flags of a static pod of the control plane, on its node."""
    file = f"/etc/kubernetes/manifests/{program}.yaml"
    return rf"sudo sed -i -E '/--feature-gates/s/,?\b{gate}=[a-z]+//; /--feature-gates=(,|$)/s/=,/=/; /--feature-gates=$/d' {file}"
