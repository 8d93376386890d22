"""Deployments of the webhook server and the sidecar, and the options of their containers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from muster.doctor.manifests import Manifest, kubectl, kubectl_patch, labels_at, mappings_at, number_at, text_at, texts_at
from muster.doctor.world import Account, Item, World

SERVE, SIDECAR = "serve", "sidecar"
PART_OF = "app.kubernetes.io/part-of"
MUSTER = "muster"
WORKLOADS = ("Deployment", "StatefulSet")
_FIRST_WORDS = 4
"""Words of a command line among which the subcommand is: ``python3 -m muster serve``."""
_DEFAULT_MODES = "validate,place,preempt,protect"


@dataclasses.dataclass(frozen=True, slots=True)
class Component:
    """Deployment that runs ``muster serve`` or ``muster sidecar``."""

    item: Item
    subcommand: str
    number: int
    words: tuple[str, ...]

    @property
    def account(self) -> Account:
        """Return the ServiceAccount of its pods."""
        name = text_at(self.item.content, "spec", "template", "spec", "serviceAccountName")
        return self.item.namespace, name or "default"

    @property
    def replicas(self) -> int:
        """Return the wanted number of pods."""
        return replicas_of(self.item)

    @property
    def modes(self) -> frozenset[str]:
        """Return the modes of a sidecar."""
        return frozenset(each.strip() for each in self.option("--mode", _DEFAULT_MODES).split(","))

    @property
    def undoes(self) -> bool:
        """Return whether a sidecar undoes gangs that their schedulers do not bind as planned."""
        return "ungate" in self.modes and self.option("--deviations") == "undo"

    @property
    def lease(self) -> str:
        """Return the Lease of a sidecar as NAMESPACE/NAME, or ``none``."""
        namespace = self.variable("MUSTER_LEASE_NAMESPACE") or self.item.namespace
        return self.option("--lease", f"{namespace}/muster-sidecar")

    @property
    def manages_certificate(self) -> bool:
        """Return whether a webhook server creates and renews its certificate."""
        return self.option("--certificates") == "managed"

    @property
    def certificate_secret(self) -> tuple[str, str]:
        """Return namespace and name of the Secret of a webhook server that manages its certificate."""
        return self.option("--certificate-namespace", "muster-system"), self.option("--certificate-secret", "muster-webhook-tls")

    def option_list(self, flag: str, default: str) -> list[str]:
        """Return the values of an option that takes several, separated by commas."""
        return [each.strip() for each in self.option(flag, default).split(",") if each.strip()]

    @property
    def gates_off(self) -> frozenset[str]:
        """Return the feature gates that are off by its option."""
        pairs = (each.partition("=") for each in self.option("--gates").split(",") if each.strip())
        return frozenset(name.strip() for name, _, value in pairs if value.strip().lower() == "false")

    def option(self, flag: str, default: str = "") -> str:
        """Return the value of an option of the container: of the command line, else of the environment."""
        for number, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name == flag:
                return value if equals else (*self.words, "")[number + 1]
        return self.variable(_variable_of(flag)) or default

    def has_flag(self, flag: str) -> bool:
        """Return whether an option without a value is given."""
        return flag in self.words

    def set_command(self, flag: str, value: str) -> str:
        """Return the command that sets an option: on the command line if it is there, else in the environment."""
        container = self._container
        for field in ("command", "args"):
            for number, word in enumerate(texts_at(container, field)):
                if word.partition("=")[0] == flag:
                    path = f"/spec/template/spec/containers/{self.number}/{field}/{number}"
                    operations = [{"op": "replace", "path": path, "value": f"{flag}={value}"}]
                    if word == flag:
                        operations = [{"op": "replace", "path": f"{path[: -len(str(number))]}{number + 1}", "value": value}]
                    return kubectl_patch(self.item.kind, self.item.namespace, self.item.name, operations)
        resource = f"{self.item.kind.lower()}/{self.item.name}"
        return kubectl(self.item.namespace, "set", "env", resource, f"{_variable_of(flag)}={value}")

    def variable(self, name: str) -> str:
        """Return the value of an environment variable of the container; empty if it is not set there."""
        return next((text_at(each, "value") for each in mappings_at(self._container, "env") if each.get("name") == name), "")

    @property
    def _container(self) -> Manifest:
        return mappings_at(self.item.content, "spec", "template", "spec", "containers")[self.number]


def components(world: World, subcommand: str) -> Iterator[Component]:
    """Yield the components that run ``muster`` with *subcommand*."""
    for item in world.of_kind(*WORKLOADS):
        for number, container in enumerate(mappings_at(item.content, "spec", "template", "spec", "containers")):
            words = (*texts_at(container, "command"), *texts_at(container, "args"))
            known = item.labels.get(PART_OF) == MUSTER or MUSTER in f"{text_at(container, 'image')} {' '.join(words[:_FIRST_WORDS])}"
            if known and subcommand in words[:_FIRST_WORDS]:
                yield Component(item, subcommand, number, words)


def _variable_of(flag: str) -> str:
    return f"MUSTER_{flag.removeprefix('--').replace('-', '_').upper()}"


def replicas_of(item: Item) -> int:
    """Return the wanted number of pods of a Deployment; 1 if it does not have it."""
    return number_at(item.content, "spec", "replicas", default=1)


def template_labels(item: Item) -> dict[str, str]:
    """Return the labels of the pods of a Deployment."""
    return dict(labels_at(item.content, "spec", "template", "metadata", "labels"))
