"""Input of a simulation with what controllers and the admission of the API server add to the objects at PATH, and the rest of the cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence

from kubeapi.gather import gather, whole_name, written_name
from kubeapi.gathered import GatheredObjects, Given, NameSearch
from kubeapi.problem import Problem
from muster.commands.pod_creation import UNCHANGED, PodCreation
from muster.commands.simulate import controllers, generated_names
from muster.commands.simulate.admission import new_values
from muster.commands.simulate.admission.path import admit_path, queue_notes
from muster.commands.simulate.admission.quota_charges import Rest
from muster.commands.simulate.expansion import Cluster, Expansion
from muster.commands.simulate.file_texts import OpenFile
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.places import Places
from muster.commands.simulate.pod_owners import OWNED_BY_WORKLOAD, PodOwners
from scheduler_core.model.names import Name


@dataclasses.dataclass(slots=True)
class ClusterInput:
    """Input of a simulation."""

    objects: list[Given] = dataclasses.field(default_factory=list)
    problems: list[Problem] = dataclasses.field(default_factory=list)
    files: int = 0
    others: list[Given] = dataclasses.field(default_factory=list)
    """Objects at PATH of kinds that placement does not read."""
    own: Own | None = None
    """The objects that the answer is about, if further objects were added."""
    skipped: list[Problem] = dataclasses.field(default_factory=list)
    """Objects at PATH that create pods, or may create pods, and could not be read; they are in *problems* too."""
    refused: list[Problem] = dataclasses.field(default_factory=list)
    """Objects at PATH whose pods the API server would refuse, with the reason."""
    unread: list[Problem] = dataclasses.field(default_factory=list)
    """Inputs of the rest of the cluster that could not be read; they are in *problems* too."""
    notes: list[Problem] = dataclasses.field(default_factory=list)
    """Losses of converted controllers' objects, and objects that create no pods."""
    stored: list[OpenFile] = dataclasses.field(default_factory=list)
    """Files in which texts of objects are."""
    texts: dict[str, bytes] = dataclasses.field(default_factory=dict)
    """Content of the files, if positions in them may be needed."""

    @property
    def places(self) -> Places:
        """Return the positions of objects in the files."""
        return Places(self.texts)


def complete(
    inputs: ClusterInput,
    known: Sequence[Given] | None,
    known_problems: Sequence[Problem] = (),
    creation: PodCreation = UNCHANGED,
    *,
    strict: bool = False,
) -> None:
    """Add the groups and pods of controllers' objects to *inputs*, and those objects of *known* that they do not replace.

    If *known* is not None, the objects that *inputs* had before, and those of their controllers, are the objects that the answer is
    about (``own``).  They replace objects of the same name, and what their controllers created in the cluster.  If *strict*, all
    objects of the cluster are known, and new pods that the API server refuses are reported.
    """
    cluster = Cluster.from_sources(known or ())
    inputs.objects = [*generated_names.named(inputs.objects)]
    expansion = controllers.expand(inputs.objects, cluster, creation, inputs.places if strict else None)
    # Sorted once: a cluster has a great many objects.
    inputs.objects = [each for listed in expansion.kinds.values() for each in listed.given()]
    inputs.others += expansion.others
    _replace(inputs, expansion.objects)
    inputs.skipped += expansion.skipped
    inputs.notes += expansion.notes
    inputs.problems += expansion.skipped
    if known is None:
        _admit(inputs, expansion, Rest(), strict=strict)
        return
    own_names = set(_names(inputs.objects))
    path_problems = (*inputs.problems,)
    inputs.unread += [*known_problems, *cluster.problems]
    inputs.problems += inputs.unread
    inputs.notes += queue_notes(cluster.others)
    names = {name for _, _, name in own_names}
    replaced = _Replaced(
        own_names, expansion, PodOwners(expansion.controllers, cluster.kinds), Rest(cluster.kinds, others=cluster.others), names=names
    )
    mentioned = NameSearch((*names, *replaced.owners.names))
    remaining = [
        each
        for kind, listed in cluster.kinds.items()
        for each in listed.given(replaced.add, None if kind in OWNED_BY_WORKLOAD else mentioned)
    ]
    expansion.rename(replaced.kept)
    inputs.own = Own.from_names(_names(inputs.objects), path_problems, expansion.origins)
    _admit(inputs, expansion, replaced.rest, strict=strict)
    inputs.objects += remaining


@dataclasses.dataclass(frozen=True, slots=True)
class _Replaced:
    """Objects of the cluster that those of PATH replace.

    Attributes:
        own_names: objects of PATH.
        expansion: what their controllers create.
        owners: owners of the cluster's pods.
        rest: the rest of the cluster; the replaced pods are added to it.
        kept: names of objects of the cluster that other controllers own, and that are kept for that.
        names: names of the objects of PATH, without kind and namespace.

    """

    own_names: Collection[tuple[str, str, str]]
    expansion: Expansion
    owners: PodOwners
    rest: Rest
    kept: set[Name] = dataclasses.field(default_factory=set)
    names: Collection[str] = ()

    def add(self, stored: GatheredObjects) -> bool:
        """Return whether *stored* is replaced; a pod is added to ``rest``."""
        # Read once, and most are excluded by their text: a cluster has a great many objects.
        text = stored.text
        if written_name(text)[1] not in self.names and not self.owners.mentions(text):
            return False
        gathered = GatheredObjects(stored.kind, stored.api_version, text)
        name = _name(gathered)
        if name in self.own_names and Name(*name) in self.expansion.origins and self.owners.has_other_owner(gathered):
            self.kept.add(Name(*name))
            return False
        owner = self.owners.owner(gathered)
        if name not in self.own_names and owner is None:
            return False
        if gathered.kind == "Pod":
            self.rest.replaced.append(stored)
            self.rest.owners |= {owner} if owner is not None else set()
        return True


def _admit(inputs: ClusterInput, expansion: Expansion, rest: Rest, *, strict: bool) -> None:
    """Change the new pods at PATH as admission does, and report those that would be refused.

    If *strict*, all errors are reported.  Otherwise objects with an invalid value are left out.
    """
    if not strict:
        inputs.objects = [*new_values.without_invalid(inputs.objects, inputs.problems)]
    admitted = admit_path(expansion, rest, inputs.places if strict else None)
    _replace(inputs, admitted.changed)
    inputs.refused += admitted.refused
    inputs.notes += admitted.notes
    inputs.unread += admitted.unread
    inputs.problems += admitted.unread


def _replace(inputs: ClusterInput, created: Sequence[Given]) -> None:
    """Add *created* objects, in place of those with the same name."""
    names = set(_names(created))
    if names:
        kinds, _ = gather(inputs.objects)
        inputs.objects = [each for listed in kinds.values() for each in listed.given(lambda each: _name(each) in names)]
    inputs.objects += created


def _names(objects: Iterable[Given]) -> Iterator[tuple[str, str, str]]:
    kinds, _ = gather(objects)
    return (_name(gathered) for listed in kinds.values() for gathered in listed)


def _name(gathered: GatheredObjects) -> tuple[str, str, str]:
    namespace, name = whole_name(gathered) or ("", "")
    return gathered.kind, namespace, name
