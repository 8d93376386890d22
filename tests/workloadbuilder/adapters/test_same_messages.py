"""A scheduling block is refused at admission and in compiling at the same fields with the same messages.

A gang that waits for itself is only a warning in compiling: the groups can be created, and never start.
"""

from __future__ import annotations

import pytest
import yaml

from tests.workloadbuilder.adapters.compiling import compiled, error_lines, unquoted
from tests.workloadbuilder.adapters.jobs import with_scheduling
from tests.workloadbuilder.adapters.jobsets import DEPENDS, IN_ORDER, jobset
from validators import pipeline
from validators.rules.base import Operation, Settings

RULES = {"job-scheduling", "jobset-scheduling", "schema-required"}
GANG, ALL = "schedulingPolicy: {gang: {}}", "disruptionMode: {all: {}}"
CLAIM = "name: a, resourceClaimName: b"
BLOCKS = {
    "nothing": "",
    "a gang": GANG,
    "a minimum below one": "schedulingPolicy: {gang: {minCount: -1}}",
    "a minimum above the Job": "schedulingPolicy: {gang: {minCount: 5}}",
    "both policies": "schedulingPolicy: {gang: {}, basic: {}}",
    "no policy in the policy": "schedulingPolicy: {}",
    "all without a gang": ALL,
    "all with Basic": f"schedulingPolicy: {{basic: {{}}}}, {ALL}",
    "all with a gang": f"{GANG}, {ALL}",
    "both modes": f"{GANG}, disruptionMode: {{all: {{}}, single: {{}}}}",
    "no mode in the mode": "disruptionMode: {}",
    "two constraints": "schedulingConstraints: {topology: [{key: a}, {key: b}]}",
    "no label key": "schedulingConstraints: {topology: [{key: 'a b'}]}",
    "an empty key": "schedulingConstraints: {topology: [{key: ''}]}",
    "five claims": f"resourceClaims: [{', '.join('{' + CLAIM.replace('a,', f'a{number},') + '}' for number in range(5))}]",
    "a claim twice": f"resourceClaims: [{{{CLAIM}}}, {{{CLAIM}}}]",
    "a claim from nowhere": "resourceClaims: [{name: a}]",
    "a claim without a name": "resourceClaims: [{name: '', resourceClaimName: b}]",
    "a claim of a bad name": "resourceClaims: [{name: A_b, resourceClaimName: b_c}]",
    "two faults": "schedulingPolicy: {gang: {minCount: 9}}, schedulingConstraints: {topology: [{key: 'a b'}]}",
}
JOBSETS = {
    **{f"nested: {name}": jobset(nested=block) for name, block in BLOCKS.items()},
    **{f"at the root: {name}": jobset(targeted=block) for name, block in BLOCKS.items() if block},
    "both places": jobset(nested=GANG, targeted=GANG),
    "a target that is not there": jobset(targeted=GANG, target="worker"),
    "a target that is like none": jobset(targeted=GANG, target="xyz"),
    "no target": jobset(targeted=GANG).replace("targetReplicatedJob: workers", "targetReplicatedJob: ''"),
    "a target twice": jobset(targeted=GANG).replace("]}\n", ", {targetReplicatedJob: workers}]}\n", 1),
    "a root of both policies": jobset(at_root="schedulingPolicy: {gang: {}, basic: {}}"),
    "a root of a minimum below one": jobset(at_root="schedulingPolicy: {gang: {minGroupCount: 0}}"),
    "a root of two constraints": jobset(at_root="schedulingConstraints: {topology: [{key: a}, {key: b}]}"),
    "a root of no label key": jobset(at_root="schedulingConstraints: {topology: [{key: 'a b'}]}"),
    "a root of all with Basic": jobset(at_root=f"schedulingPolicy: {{basic: {{}}}}, {ALL}", nested=f"{GANG}, {ALL}"),
    "single below all": jobset(at_root=f"{GANG}, {ALL}", nested=f"{GANG}, {ALL}"),
    "single said below all": jobset(at_root=f"{GANG}, {ALL}", nested="disruptionMode: {single: {}}"),
    "in order": jobset(at_root=GANG) + IN_ORDER,
    "in order, few enough": jobset(at_root="schedulingPolicy: {gang: {minGroupCount: 1}}") + IN_ORDER,
    "in order, too many": jobset(at_root="schedulingPolicy: {gang: {minGroupCount: 2}}") + IN_ORDER,
    "depends on": jobset(at_root=GANG).replace("    replicas: 3\n", DEPENDS),
}


def judged(text: str) -> list[str]:
    """Return the errors of the rules at admission, sorted by field path."""
    result = yaml.safe_load(text)
    verdict = pipeline.validate(result["kind"], result, None, Operation.CREATE, settings=Settings())
    return [f"{each.error.path}: {each.error}" for each in verdict if each.error.origin in RULES]


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_of_a_job(block):
    text = with_scheduling(f"{{{block}}}")

    assert unquoted(judged(text)) == unquoted(error_lines(compiled(text).errors))


@pytest.mark.parametrize("text", JOBSETS.values(), ids=JOBSETS)
def test_of_a_jobset(text):
    result = compiled(text)
    waiting = [line for line in error_lines(result.warnings) if "would wait for the gang" in line]

    assert unquoted(judged(text)) == unquoted([*error_lines(result.errors), *waiting])


def test_the_tables_hold_sound_and_unsound_blocks():
    sound = [name for name, text in JOBSETS.items() if not judged(text)]

    assert 4 <= len(sound) < len(JOBSETS) - 10
