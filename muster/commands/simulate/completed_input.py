"""Input of a simulation with what controllers and the admission of the API server add to the objects at PATH, and the rest of the cluster."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

from expansion.expanded import Expanded, expand
from expansion.pod_creation import UNCHANGED, PodCreation
from expansion.rollouts.running import Rollout
from kubeapi.gathered import Given
from kubeapi.names import Name
from kubeapi.problem import Problem
from muster.commands.pod_slots import with_pod_slots
from muster.commands.simulate.file_texts import OpenFile
from muster.commands.simulate.own_objects import Own
from muster.commands.simulate.places import Places
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior


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
    rollouts: list[Rollout] = dataclasses.field(default_factory=list)
    """Updates of running objects of the cluster by those at PATH."""
    later: list[Rollout] = dataclasses.field(default_factory=list)
    """The next updates of objects at PATH that do not run yet, of which some can hang."""
    stored: list[OpenFile] = dataclasses.field(default_factory=list)
    """Files in which texts of objects are."""
    origins: dict[Name, Name] = dataclasses.field(default_factory=dict)
    """The object of each group and pod that was created for one."""
    minimums: dict[Name, str | None] = dataclasses.field(default_factory=dict)
    """Field of an object at PATH with the minimum of a created group, unless that is in scheduling blocks; None if no field has it."""
    texts: dict[str, bytes] = dataclasses.field(default_factory=dict)
    """Content of the files, if positions in them may be needed."""
    behavior: SchedulerBehavior | None = None
    """Version of kube-scheduler of the cluster, if it is known."""
    assumes_slots: bool = False
    """Whether nodes that were written by hand without a number of pods get the kubelet's default."""
    given: list[Given] = dataclasses.field(default_factory=list)
    """The objects at PATH as they are."""
    known: Sequence[Given] = ()
    """The objects of the rest of the cluster."""
    expand_again: Callable[[Iterable[Given]], Expanded] = expand
    """Returns what other objects at PATH are expanded to, in the same cluster."""

    @property
    def places(self) -> Places:
        """Return the positions of objects in the files."""
        return Places(self.texts)

    def rescaled(self, expanded: Expanded) -> ClusterInput:
        """Return the input with other objects at PATH, which are *expanded* already."""
        other = ClusterInput(problems=[*self.unread, *expanded.skipped, *expanded.invalid], unread=self.unread, behavior=self.behavior)
        other.own = Own.from_names(expanded.names, (), expanded.origins)
        other.assumes_slots = self.assumes_slots
        other.skipped, other.refused, other.notes = expanded.skipped, expanded.refused, expanded.notes
        other.objects = other.completed(expanded, other.notes)
        return other

    def completed(self, expanded: Expanded, notes: list[Problem]) -> list[Given]:
        """Return the objects that are *expanded* and the rest of the cluster; *notes* gets what is assumed about its nodes."""
        objects = [*expanded.objects, *expanded.remaining]
        return with_pod_slots(objects, notes) if self.assumes_slots else objects


def complete(
    inputs: ClusterInput,
    known: Sequence[Given] | None,
    known_problems: Sequence[Problem] = (),
    creation: PodCreation = UNCHANGED,
    *,
    strict: bool = False,
    assumes_slots: bool = False,
) -> None:
    """Add the groups and pods of controllers' objects to *inputs*, and those objects of *known* that they do not replace.

    If *known* is not None, the objects that *inputs* had before, and those of their controllers, are the objects that the answer is
    about (``own``).  If *strict*, all objects of the cluster are known, and new pods that the API server refuses are reported.
    If it *assumes_slots*, nodes that were written by hand without a number of pods get the kubelet's default, with a note.
    """
    inputs.given, inputs.known = inputs.objects, known or ()
    inputs.expand_again = functools.partial(expand, cluster=known, creation=creation, strict=strict, place=inputs.places.place)
    expanded = inputs.expand_again(inputs.given)
    inputs.skipped += expanded.skipped
    inputs.problems += expanded.skipped
    inputs.origins |= expanded.origins
    if known is not None:
        inputs.own = Own.from_names(expanded.names, inputs.problems, expanded.origins)
    inputs.assumes_slots = assumes_slots
    inputs.objects = inputs.completed(expanded, inputs.notes)
    inputs.others += expanded.others
    inputs.minimums |= expanded.minimums
    inputs.refused += expanded.refused
    inputs.notes += expanded.notes
    inputs.rollouts += expanded.rollouts
    inputs.later += expanded.later
    inputs.unread += [*known_problems, *expanded.unread]
    inputs.problems += [*inputs.unread, *expanded.invalid]
