"""A ResourceSlice says in one field on which nodes its devices are; if that is a selector, it has one term."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content, decode
from kubeapi.field_path import FieldPath
from kubeapi.selectors import NodeSelector
from kubeapi.versions.kubernetes_releases import Since
from validators import field
from validators.built_in import selectors
from validators.field import FieldError
from validators.model import slices
from validators.model.templates import SPEC
from validators.model.views import DeviceContent, ResourceSlice, ResourceSliceSpec
from validators.rules import checks
from validators.rules.base import Context, Example, Rule

_ONE_TERM = Since(38, "the selector of a device has one term too, as that of a slice")
_TRUE = "must be either unset or set to true"
_OF_SLICE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_OF_DEVICE = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
_NOT_BY_DEVICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the slice and its devices, and at the fields about nodes."""
    if not isinstance(context.new, ResourceSlice):
        return
    spec = context.new.spec
    yield from _of_slice(spec)
    for path, each in slices.contents(spec):
        if spec.per_device_node_selection:
            yield from _of_device(path, each, one_term=context.settings.minor >= _ONE_TERM)
        elif not (each.node_name is None and each.node_selector is None and each.all_nodes is None):
            yield field.invalid(path, None, _NOT_BY_DEVICE)


def _of_slice(spec: ResourceSliceSpec) -> Iterator[FieldError]:
    yield from _values(SPEC, spec, "must be either unset or set to a non-empty string", one_term=True)
    if spec.per_device_node_selection is False:
        yield field.invalid(SPEC / "perDeviceNodeSelection", False, _TRUE)  # noqa: FBT003 - the field's value
    present = _present(spec)
    if spec.per_device_node_selection:
        present.append("`perDeviceNodeSelection`")
    if not present:
        yield field.required(SPEC, _OF_SLICE)
    elif len(present) > 1:
        yield field.invalid(SPEC, f"{{{', '.join(present)}}}", f"{_OF_SLICE}, but multiple fields are set")


def _of_device(path: FieldPath, device: DeviceContent, *, one_term: bool) -> Iterator[FieldError]:
    yield from _values(path, device, "must not be empty", one_term=one_term)
    present = _present(device)
    if not present:
        yield field.required(path, _OF_DEVICE)
    elif len(present) > 1:
        yield field.invalid(path, f"{{{', '.join(present)}}}", _OF_DEVICE)


def _present(given: ResourceSliceSpec | DeviceContent) -> list[str]:
    values = {"nodeName": given.node_name, "nodeSelector": given.node_selector is not None, "allNodes": given.all_nodes}
    return [f"`{name}`" for name, value in values.items() if value]


def _values(path: FieldPath, given: ResourceSliceSpec | DeviceContent, empty: str, *, one_term: bool) -> Iterator[FieldError]:
    if given.node_name == "":
        yield field.invalid(path / "nodeName", "", empty)
    elif given.node_name is not None:
        yield from checks.messages(path / "nodeName", given.node_name, content.subdomain)
    if given.node_selector is not None:
        yield from _selector(path / "nodeSelector", given.node_selector, one_term=one_term)
    if given.all_nodes is False:
        yield field.invalid(path / "allNodes", False, _TRUE)  # noqa: FBT003 - the field's value


def _selector(path: FieldPath, selector: NodeSelector, *, one_term: bool) -> Iterator[FieldError]:
    written = decode.parse(decode.ENCODER.encode(selector))
    yield from selectors.node_selector(written, path)
    terms = written.get("nodeSelectorTerms") or []
    if one_term and len(terms) != 1:
        yield field.invalid(path / "nodeSelectorTerms", terms, "must have exactly one node selector term")


_SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: rack-1}
spec:
  driver: switch.example.com
  pool: {name: rack-1, generation: 1, resourceSliceCount: 1}
  nodeSelector:
    nodeSelectorTerms:
    - matchExpressions: [{key: example.com/rack, operator: In, values: [r1]}]
  devices:
  - {name: port-0}
"""
_BY_DEVICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: switches}
spec:
  driver: switch.example.com
  pool: {name: switches, generation: 1, resourceSliceCount: 1}
  perDeviceNodeSelection: true
  devices:
  - {name: port-0, nodeName: n1}
  - name: port-1
    nodeSelector:
      nodeSelectorTerms:
      - matchExpressions: [{key: example.com/rack, operator: In, values: [r1]}]
"""
_SECOND_TERM = "      - matchExpressions: [{key: example.com/rack, operator: In, values: [r2]}]\n"

RULE = Rule(
    id="slice-nodes",
    kinds=frozenset({"ResourceSlice"}),
    changes=(_ONE_TERM,),
    why="The API server refuses other slices: kube-scheduler could not tell which pods can use the devices.",
    source="Kubernetes 1.37.1 and 1.38.0-beta.0, validation of ResourceSlice",
    check=check,
    good=(Example(_SLICE), Example(_BY_DEVICE), Example(_BY_DEVICE + _SECOND_TERM)),
    bad=(
        Example(_SLICE.replace("  devices:", "  nodeName: n1\n  devices:"), at=("spec",)),
        Example(_SLICE.replace("  devices:", "  allNodes: false\n  devices:"), at=("spec.allNodes",)),
        Example(_BY_DEVICE.replace("nodeName: n1", 'nodeName: ""'), at=("spec.devices[0]", "spec.devices[0].nodeName")),
        Example(_BY_DEVICE.replace("perDeviceNodeSelection: true", "nodeName: n1"), at=("spec.devices[0]", "spec.devices[1]")),
        Example(_BY_DEVICE + _SECOND_TERM, at=("spec.devices[1].nodeSelector.nodeSelectorTerms",), kubernetes="1.38"),
    ),
)
