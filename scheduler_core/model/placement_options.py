"""Options of placement, which simulator and sidecar share: each is declared once."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.behavior.scheduler_behavior import BEHAVIORS, KUBERNETES_1_37
from scheduler_core.model.options import COMPLETE, ON, STRATEGIES, SWITCH, is_device_attribute
from validators.options import FILE, Option, OptionType, decode_names, items, one_of, whole_number

LARGEST_BUDGET = 100_000_000
"""Search steps: some minutes for a root."""
_NO_PLUGIN = "names no placement plugin: give the name of one that is installed, or leave the option out"


def _checked_attributes(attributes: Sequence[str]) -> tuple[str, ...]:
    for each in attributes:
        if not is_device_attribute(each):
            raise ValueError(f"{each!r} must be an attribute with its domain, such as gpu.example.com/clique")
    return tuple(attributes)


def _device_attributes(texts: Sequence[str]) -> tuple[str, ...]:
    return _checked_attributes([each.strip() for text in texts for each in text.split(",")])


def _plugin_names(texts: Sequence[str]) -> tuple[str, ...]:
    if listed := tuple(items(texts)):
        return listed
    raise ValueError(f"{','.join(texts)!r} {_NO_PLUGIN}")


def _decode_plugin_names(value: object) -> tuple[str, ...]:
    # An empty list of a batch line overrides the command line.
    if (listed := decode_names(value)) or value == []:
        return listed
    raise ValueError(f"{value!r} {_NO_PLUGIN}")


STRATEGY = Option(
    "--strategy",
    one_of(STRATEGIES, str),
    "greedy: decide as kube-scheduler; complete: also search where greedy leaves pods without a node.",
    COMPLETE,
)
KUBERNETES = Option(
    "--kubernetes",
    one_of(tuple(BEHAVIORS), BEHAVIORS.__getitem__),
    "Version of kube-scheduler to mirror.",
    unset=f"that of a live cluster, else {KUBERNETES_1_37.version}",
)
RANK_ORDER = Option(
    "--rank-order",
    one_of(SWITCH, lambda text: text == ON),
    "Give equal pods of a group nodes by their indexes, so that consecutive ones are neighbours; greedy never does.",
    ON,
)
BUDGET = Option("--budget", whole_number(1, LARGEST_BUDGET, "STEPS", unit="steps"), "Maximum number of search steps for a root.")
DEVICE_TOPOLOGY = Option(
    "--device-topology",
    OptionType(_device_attributes, lambda value: _checked_attributes(decode_names(value)), "ATTRIBUTE,...", repeatable=True),
    "Attribute of devices, such as gpu.example.com/clique, that is a topology key: a node is in the domain that its devices name"
    " (repeatable).",
)
PLUGIN = Option(
    "--plugin", OptionType(_plugin_names, _decode_plugin_names, "NAME,...", repeatable=True), "An installed placement plugin (repeatable)."
)
SCHEDULER_CONFIG = Option(
    "--scheduler-config", FILE, "KubeSchedulerConfiguration (v1) with the profiles of the scheduler: plugins, weights, scoring strategies."
)
