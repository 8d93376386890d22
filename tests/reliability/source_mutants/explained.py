"""Survivors that are no hole in the tests: by name of the mutant, in which ``...`` stands for anything, with the reason."""

from __future__ import annotations

import re

_PREEMPTION, _CERTIFICATE = "scheduler_core/preemption/", "scheduler_core/exact/certificate/"
_SHORTCUT = "a shortcut: the other way has the same result"
_SHARE = "a share of the effort: a search that ends by itself has the same result"
_DEFAULT = "the default is only read where it does not matter"
TABLE: tuple[tuple[str, str], ...] = (
    # Numbers of which near ones serve as well.
    ("...module: ..._SECONDS = ... -> ..._SECONDS = ...", "a limit of time: near values serve as well"),
    ("certs/rotation_run.py module: MOST_... = ...", "a limit of attempts: near values serve as well"),
    (f"{_PREEMPTION}...effort.renew(steps...", _SHARE),
    (f"{_PREEMPTION}...effort.spend(...", _SHARE),
    (f"{_PREEMPTION}...effort = Effort(...", _SHARE),
    (f"{_CERTIFICATE}refutation.py ...budget.step(...", _SHARE),
    (f"{_CERTIFICATE}refutation.py module: ...LARGEST... = ...", "a limit of the length of a proof: near values serve as well"),
    (f"{_PREEMPTION}minimal/branch_and_bound.py BranchAndBound.__init__: ...itertools.count(...", "numbers in turn order equal entries, from any first one"),
    (f"{_PREEMPTION}minimal/branch_and_bound.py BranchAndBound._evaluate: ...allowance=2 * node.allowance...", _SHARE),
    (f"{_PREEMPTION}minimal/subsets.py module: _LARGEST = ...", "a limit of the size of a search: near values serve as well"),
    ("scheduler_core/plugins/devices/allocator.py Allocator._record: kind = ...", "solutions that differ only in equal devices are kept too"),
    ("scheduler_core/plugins/devices/allocator.py Allocator._record: used[... else -1, ... -> ... else not 1, ...", "solutions that differ only in equal devices are kept too"),
    ("...of_requests=True) -> ...of_requests=False)", "a value that is read more often is the same"),
    (f"{_PREEMPTION}...assign_effort(steps, ...", _SHARE),
    (f"{_PREEMPTION}minimal/trials.py Trials.__init__: self._base = ...", _SHARE),
    (f"{_CERTIFICATE}refutation.py module: _MOST_WAYS = ...", "a limit of the length of a proof: near values serve as well"),
    (f"{_CERTIFICATE}refutation.py Refutation._compared: if needed > LARGEST_NEED: ...", "a limit of the length of a proof: near values serve as well"),
    ("validators/rules/slice_devices.py module: Example(...range(...", "an example beyond a limit, by one or by more"),
    (f"{_PREEMPTION}minimal/trials.py module: _BASE, ...", _SHARE),
    (f"{_PREEMPTION}minimal/branch_and_bound.py BranchAndBound._evaluate: ...allowance=1)) -> ...", _SHARE),
    (f"{_CERTIFICATE}refutation.py Refutation._refute: self._length += 1 -> ...", "a limit of the length of a proof: near values serve as well"),
    # Order of work.
    (f"{_PREEMPTION}minimal/heuristic_plans.py HeuristicSearch.reduce: size = ...", "the first part that is tried: later parts become smaller anyway"),
    (f"{_PREEMPTION}bounds/cost_table.py divide: first, *others = sorted(...", "the order in which places are joined changes only the time"),
    (f"{_CERTIFICATE}refutation.py Refutation._claim_for_fewest: fewer = ...", "a claim about more groups proves the same"),
    (f"{_CERTIFICATE}refutation.py Refutation._known: if ...<= state.keys()... -> ...is state.keys()...", "a state that is not recognised is proved again"),
    (f"{_CERTIFICATE}facts.py Facts._measures: unit, total = ...", "a claim about any measure is true: others prove the same, or less"),
    (f"{_CERTIFICATE}refutation.py Refutation._known: for number in range(...", "a state that is not recognised is proved again"),
    (f"{_CERTIFICATE}refutation.py module: _COMPARED_STATES = ...", "as many as are compared: others are proved again"),
    (f"{_PREEMPTION}bounds/relaxed.py Relaxation._costs_of_parts: if ...>= self._limit: -> if ...> self._limit:", "a part that costs as much is no better"),
    (f"{_CERTIFICATE}facts.py Facts._measures: sizes |= ...", "a claim about any measure is true: others prove the same, or less"),
    (f"{_PREEMPTION}victims/dry_run.py DryRun.reprieve: ...initial=0... -> ...initial= 1...", "without units a step has nothing to do"),
    (f"{_PREEMPTION}bounds/node_cost.py _candidate_node: ...default=-1)... -> ...default=1)...", "the order of nodes without units changes only the time"),
    # Shortcuts.
    (f"{_CERTIFICATE}facts.py Facts.domains: if not each.key or not each.pinned: -> if not each.key and not each.pinned:", _SHORTCUT),
    ("...interchangeable.py Counting._reach: ...least > MOST_DEVICES... -> ...least != MOST_DEVICES...", "a shortcut: nodes are refused when they are tried"),
    (f"{_PREEMPTION}bounds/group_opening.py Opening.own: ... and not self._own[kind]... -> ... or not self._own[kind]...", _SHORTCUT),
    (f"{_PREEMPTION}minimal/subsets.py Subsets._is_pruned: return ... or (... -> return ... and (...", _SHORTCUT),
    (f"{_PREEMPTION}minimal/minimal_plans.py _Plans.search: if self._cost.free and ... -> if not self._cost.free and ...", _SHORTCUT),
    (f"{_PREEMPTION}minimal/subsets.py Subsets._descend: if self._prerequisites.get(... <= units: -> ... is not units:", _SHORTCUT),
    ("scheduler_core/plugins/devices/assumed_claims.py AssumedClaims._allocations_on: if self._counted is not None... -> if self._counted is None...", _SHORTCUT),
    (f"{_PREEMPTION}minimal/subsets.py Subsets._descend: ...position + 1) -> ...position + 0)", "a set with one unit twice is one that was tried before"),
    ("...interchangeable.py _contended: ...users(device.id) > 1 ... -> ...users(device.id) != 1 ...", "a device of an allocation has a user"),
    (f"{_PREEMPTION}minimal/heuristic_plans.py HeuristicSearch.make: if self._key is None or bound < ... -> ...bound >= ...", "other plans to begin with: all are compared later"),
    (f"{_CERTIFICATE}refutation.py Refutation._room_claim: if needed > free or ...", "a claim that does not hold is dropped"),
    (f"{_CERTIFICATE}node_sets.py NodeSets.union: ...len(numbers) == 1... -> ...len(numbers) < 1...", "the union of one set has the number of the set"),
    ("scheduler_core/plugins/inter_pod_affinity.py InterPodAffinity.related: ... and each.owners.by_node] -> ... or each.owners.by_node]", "more pods are related than need to be"),
    ("...allocator.py Allocator._try: done = False -> done = True", "an error ends the attempt, after which nothing is given back"),
    ("...stateful_plugins.py _ActivePlugins.remove_batch: pods = batch.pods[::...", "equal pods are removed in any order"),
    # Values that do not occur.
    ("...job_scheduling_unused.py check: ...minor >= FIRST... -> ...minor is FIRST...", "no later version is known yet"),
    (f"{_PREEMPTION}minimal/minimal_plans.py _Plans._assign_effort: ...", _SHARE),
    ("scheduler_core/plugins/node_affinity.py own_node: ...(values[0], -1) -> ...(values[0], ~1)", "every negative number is no node"),
    (f"{_PREEMPTION}bounds/domain_cost.py DomainCost.is_small: ...max(1, len(area.nodes))... -> ...", "a domain has a node"),
    ("validators/rules/parent_exists.py check: if not parent or ... -> if not parent and ...", "a parent in the tree is known to the lookup too"),
    ("validators/rules/topology_narrows.py _wider: ...len(values) > 1 ... -> ...len(values) != 1...", "each value has a set of at least one"),
    ("scheduler_core/plugins/pod_counts.py PodCounts.rewind: while len(self._kind_of) > mark: -> while len(self._kind_of) is not mark:", "there are never fewer than at a mark"),
    ("...device_kinds.py DeviceKinds._suffices: if len(counted) < len(offered)... -> if len(counted) is not len(offered)...", "it has never more"),
    (f"{_PREEMPTION}units/units_by_node.py UnitsByNode.__init__: ...max(len(units), 1)... -> ...max(len(units), 0)...", "without units there is nothing to divide"),
    ("validators/rules/constraint_attributes.py _qualified_name: elif len(names) == 1: -> elif len(names) <= 1:", "a text has at least one part"),
    (f"{_PREEMPTION}minimal/branch_and_bound.py BranchAndBound.__init__: self._limit = 0 -> ...", "each run sets its own limit"),
    ("certs/rotation_steps.py _demand_own_ca: ...fromtimestamp(0, ...", "the result does not depend on this time"),
    ("certs/pem_bundle.py module: _ANY_TIME = ...", "the result does not depend on this time"),
    ("...feasibility.py judge_by_document: if status is ... -> if status <= ...", "with Success the sum is never below the minimum"),
    (f"{_CERTIFICATE}refutation.py Refutation._compared: ...max(0, available // claim.size)... -> ...max( -1, ...", "a domain that others overfill is refuted before"),
    (f"{_CERTIFICATE}refutation.py Refutation._room_claim_by_domain: continue -> break", "a longer proof: what no claim refutes is told apart by cases"),
    (f"{_CERTIFICATE}refutation.py Refutation._room_claim_by_domain: if set(... == ... -> ... >= ...", "domains have no node in common: one that is the whole set is the only one"),
    (f"{_CERTIFICATE}refutation.py Refutation.proof: if self._facts.groups[0]... -> ...groups[ -1]...", "a root of which nothing is missing needs nothing: nothing refutes it"),
    ("...node_state.py NodeStates._state: ...known[0] != version: -> ...known[0] < version:", "versions only grow"),
    ("scheduler_core/plugins/volume_binding.py VolumeMatching.remove_pod: ... and pod.key in self._of_pod: -> ... or pod.key in self._of_pod:", "only pods whose volumes were picked are there"),
    (f"{_PREEMPTION}bounds/group_opening.py Opening.rows: pods: Ints = np.zeros((1, ... -> ...(( 2, ...", "a second row that nothing reads"),
    # Results that are equal.
    (f"{_PREEMPTION}plans/group_domains.py DomainArea.rest: ...assume_unique=...", "the nodes are unique"),
    ("scheduler_core/plugins/assumed_volumes.py _free_percentage: ...requested > capacity... -> ...requested >= capacity...", "a full one has 0 anyway"),
    (f"{_CERTIFICATE}facts.py Facts.packed: for _ in range(min(count, ... // weight)... -> ... << weight)...", "sums beyond the capacity are cut off"),
    (f"{_CERTIFICATE}facts.py Facts.packed: subset_sums, cap = ... - 1 -> ... - 2", "a sum with one more pod is never 0"),
    # Defaults.
    (f"{_PREEMPTION}result.py Preemption: proved: bool = False -> ...", _DEFAULT),
    (f"{_PREEMPTION}result.py Preemption: violating: int = 0 -> ...", _DEFAULT),
    ("scheduler_core/placement/feasibility.py judge: def judge(...unschedulable: int = 1...", _DEFAULT),
    (f"{_CERTIFICATE}certificate.py certificate: def certificate(...empty: bool = True...", _DEFAULT),
)  # fmt: skip


def why(name: str) -> str:
    """Return the reason; empty if there is none."""
    return next((reason for pattern, reason in TABLE if re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), name)), "")
