"""Request of a simulation: options of the command line, overridden by those of a line of a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from expansion.pod_creation import PodCreation
from kubeapi.base_structs import replaced
from kubeapi.versions.kubernetes_releases import TODAY
from muster.commands import options, placement_plugins
from muster.commands.described_nodes.description_syntax import NodeDescription
from muster.commands.simulate.node_addition import Addition, paired_additions
from muster.commands.simulate.simulation_options import ADD_NODES, BY_KEY, FIELDS, GATES, LIKE, SCHEDULER_CONFIG
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.loading.configuration.scheduler_configuration import SchedulerConfiguration, read_by_any_version, read_configuration
from scheduler_core.model.placement_options import KUBERNETES, PLUGIN
from scheduler_core.placement.extension_points import Plugins
from validators.gates import GateError, Gates
from validators.options import Option, Value
from workloadbuilder.adapters.shared.known_objects import DeclaredTemplate

Record = TypeVar("Record")


class InvalidOptions(ValueError):
    """Invalid options; the message is for users."""


@dataclasses.dataclass(frozen=True, slots=True)
class SimulationRequest:
    """Options of one simulation."""

    cycle: CycleOptions = dataclasses.field(default_factory=CycleOptions)
    nodes: tuple[NodeDescription, ...] = ()
    """Nodes of the cluster besides those that are given."""
    drain: tuple[str, ...] = ()
    """Nodes to remove, by name or label."""
    cordon: tuple[str, ...] = ()
    """Nodes to cordon, by name or label."""
    additions: tuple[Addition, ...] = ()
    timings: bool = False
    remedies: int | None = None
    """Maximum number of roots for which remedies are searched; None: the default of the strategy."""
    fragmentation: bool = False
    configuration: SchedulerConfiguration | None = None
    """Scheduler configuration; None: one among the objects, or the defaults."""
    behavior: SchedulerBehavior | None = None
    """Version of kube-scheduler to mirror; None: that of the cluster."""
    device_topology: tuple[str, ...] = ()
    """Attributes of devices that are topology keys."""
    admission_plugins: frozenset[str] = frozenset()
    """Admission plugins that are on besides those that are by default."""
    pod_templates: Mapping[str, Sequence[DeclaredTemplate]] = dataclasses.field(default_factory=dict)
    """Pod templates of kinds that are not read."""
    platform: str = ""
    """Preset of a managed cluster, whose admission plugins are on too; empty for none."""
    only_own: bool = False
    """Evict victims, and search remedies, only for the roots of the objects at PATH."""

    @property
    def assumes_slots(self) -> bool:
        """Return whether nodes that were written by hand get pod slots, which kube-scheduler does not give them."""
        return self.cycle.strategy != "greedy"

    def creation(self, creation: PodCreation, of_cluster: SchedulerBehavior | None = None) -> PodCreation:
        """Return *creation* by the controllers of the requested version and feature gates; *of_cluster* is the version of the cluster."""
        behavior = self.behavior or of_cluster
        minor = TODAY if behavior is None else behavior.minor
        return replaced(
            creation,
            kubernetes=minor,
            gates=self.cycle.gates,
            admission_plugins=self.admission_plugins,
            pod_templates=self.pod_templates,
            platform=self.platform,
        )


def with_options(request: SimulationRequest, given: object) -> SimulationRequest:
    """Return *request* changed by the ``options`` of a line of a batch.

    Raises:
        InvalidOptions: an unknown option, or an invalid value.

    """
    if given is None:
        return request
    if not isinstance(given, Mapping):
        raise InvalidOptions("options must be an object")
    for key in given:
        if key not in BY_KEY:
            raise InvalidOptions(f"there is no option {key!r}{options.near(key, BY_KEY)}")
    return with_values(request, {BY_KEY[key]: _decoded(BY_KEY[key], value) for key, value in given.items()})


def _decoded(option: Option[Value], value: object) -> Value:
    try:
        return option.type.decode(value)
    except ValueError as error:
        raise InvalidOptions(f"option {option.key}: {error}") from None


def with_values(request: SimulationRequest, values: Mapping[Option[Any], Any]) -> SimulationRequest:
    """Return *request* changed by the values of options.

    Raises:
        InvalidOptions: a plugin cannot be loaded, the scheduler configuration has errors, the gates exclude each other, or ``addNodes`` does not go with ``like``.

    """
    remaining = dict(values)
    if ADD_NODES in values or LIKE in values:
        try:
            remaining[ADD_NODES] = paired_additions(values.get(ADD_NODES, ()), remaining.pop(LIKE, ()))
        except ValueError as error:
            raise InvalidOptions(f"option {ADD_NODES.key}: {error}") from None
    if GATES in remaining:
        remaining[GATES] = _gates(request.cycle.gates, remaining[GATES])
    if isinstance(written := remaining.get(SCHEDULER_CONFIG), Mapping):
        remaining[SCHEDULER_CONFIG] = _configuration(written, remaining.get(KUBERNETES, request.behavior))
    if PLUGIN in remaining:
        remaining[PLUGIN] = _plugins(remaining[PLUGIN])
    for option, value in remaining.items():
        request = _replaced(request, FIELDS[option], value)
    return request


def _replaced(record: Record, path: tuple[str, ...], value: object) -> Record:
    """Return the dataclass *record* with *value* in the field at *path*."""
    field, *below = path
    inner = _replaced(getattr(record, field), tuple(below), value) if below else value
    changed: Record = dataclasses.replace(record, **{field: inner})  # type: ignore[type-var]
    return changed


def _gates(before: Gates, value: Gates | Mapping[str, bool]) -> Gates:
    """Return the gates of an option; the switches of a line change those *before*."""
    if isinstance(value, Gates):
        return value
    try:
        return before.switched(value)
    except GateError as error:
        raise InvalidOptions(f"option {GATES.key}: {error}") from None


def _configuration(written: Mapping[str, Any], behavior: SchedulerBehavior | None) -> SchedulerConfiguration:
    """Return the configuration as *behavior* reads it; None if the version is known only with the cluster."""
    configuration = read_by_any_version(written) if behavior is None else read_configuration(written, behavior)
    if configuration.errors:
        errors = "; ".join(f"{each.path}: {each}" for each in configuration.errors)
        raise InvalidOptions(f"option {SCHEDULER_CONFIG.key}: {errors}")
    return configuration


def _plugins(names: tuple[str, ...]) -> Plugins:
    try:
        return placement_plugins.load(names)
    except placement_plugins.PluginError as error:
        raise InvalidOptions(f"option {PLUGIN.key}: {error}") from None
