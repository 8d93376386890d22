"""Selectors of a device class that end an attempt with an error."""

from __future__ import annotations

from tests.validators.rules.test_every_rule import linted
from validators.rules.base import Example

RULE = "device-attribute-present"
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel:
      expression: device.driver == "gpu.example.com"
  - cel:
      expression: device.attributes["gpu.example.com"].model == "a100"
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpus}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0}
"""


def test_the_selector_that_fails_is_named_by_place_and_text() -> None:
    (finding,) = [each.error for each in linted(Example(CLASS)) if each.error.origin == RULE]

    assert str(finding.path) == "spec.selectors[1].cel.expression"
    assert 'device.attributes["gpu.example.com"].model' in str(finding.value)


def test_of_the_selectors_of_a_request_the_first_that_fails_is_reported() -> None:
    """The allocator evaluates no further one."""
    selector = """\
        - cel:
            expression: device.attributes["gpu.example.com"].model == "a100"
"""
    claim = f"""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: a100}}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
{selector}{selector}"""
    found = [str(each.error.path) for each in linted(Example(claim + CLASS[CLASS.index("---") :])) if each.error.origin == RULE]

    assert found == ["spec.devices.requests[0].exactly.selectors[0].cel.expression"]
