"""Decisions on one root after the other; a placed root's resources are not available to later roots."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterable, Iterator, Sequence

from scheduler_core import diagnosis
from scheduler_core.causes.attempts import AttemptResult
from scheduler_core.causes.cause import Cause
from scheduler_core.causes.claims import ClaimFull, DevicesAwaited
from scheduler_core.causes.groups import DeletionsAwaited
from scheduler_core.causes.plugin_failures import PluginFailed
from scheduler_core.causes.searches import AttemptNote, NoPlacementExists, PlacementMissed, PlacementsSampled
from scheduler_core.cycle.claim_consumers import ClaimConsumers, are_alike, with_refused, without_users
from scheduler_core.cycle.device_decisions import allocate, attempt_ended, devices_beyond_requests, without_unbound_pods
from scheduler_core.cycle.effects import Effects, keeps_nominations
from scheduler_core.cycle.planned_roots import awaiting, keeps_plan, planned_part, with_placed, with_rest_postponed
from scheduler_core.cycle.preemptions import Preemptions
from scheduler_core.cycle.preemptor import Proposal, eviction_quality
from scheduler_core.cycle.verdicts import lacks_state, search_verdict, verdicts
from scheduler_core.cycle.volume_choices import VolumeChoices
from scheduler_core.diagnosis import Diagnosis
from scheduler_core.exact.complete import Complete
from scheduler_core.exact.nominated_devices import hold_nominated_devices, nominate
from scheduler_core.model.conditions import Conditions
from scheduler_core.model.decision import Decision, GroupDecision, RankedGroup, Search
from scheduler_core.model.entity import Entity
from scheduler_core.model.options import PlacingOptions
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.model.status import Status
from scheduler_core.placement.extension_points import PluginFailedError, Plugins
from scheduler_core.placement.greedy import Greedy
from scheduler_core.placement.outcome import PlacementOutcome, assigned, assigned_by_leaf
from scheduler_core.placement.placement_request import PlacementRequest
from scheduler_core.placement.rank_order import RankOrder, is_ranked
from scheduler_core.placement.state import NO_PLUGINS, PlacementState
from scheduler_core.preemption.result import Preemption

_NOTHING_WRONG = Diagnosis()


class Decider:
    """State of a cycle between its roots; ``effects`` are those of its decisions so far, ``preemptions`` select the victims."""

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        conditions: Conditions,
        options: PlacingOptions,
        ignore: frozenset[str],
        steps: int = 0,
        plugins: Plugins = NO_PLUGINS,
        *,
        state: PlacementState | None = None,
    ) -> None:
        """Place on *state*, which must be that of *snapshot*; without it, a state is created."""
        self._snapshot = snapshot
        self._behavior = snapshot.behavior
        self._conditions = conditions
        self._options = options

        def searching(other: ClusterSnapshot) -> Complete:
            found = PlacementState.from_snapshot(other, options, ignore, plugins)
            hold_nominated_devices(found, other.pods)
            return Complete(found, steps)

        state = state or PlacementState.from_snapshot(snapshot, options, ignore, plugins)
        if options.sparing:
            hold_nominated_devices(state, snapshot.pods)
        self._greedy: Greedy = Complete(state, steps) if steps else Greedy(state)
        self._causes = diagnosis.DomainCauses(self._greedy)
        self._ledger = self._greedy.state.ledger
        self._nominations = self._greedy.state.nominations
        self.effects = Effects(self._greedy.state.nodes)
        self.preemptions = Preemptions(self._greedy, snapshot, self.effects, searching)
        self._volumes = VolumeChoices(self._greedy.state, snapshot.pods)
        self._consumers = ClaimConsumers(snapshot)
        self._chosen = False

    @functools.cached_property
    def _leaving(self) -> list[PodRecord]:
        """The pods on nodes that are being deleted; of a live cluster, all records are created for that, so only a failure asks for them."""
        return [pod for pod in filter(operator.attrgetter("terminating"), self._snapshot.pods) if pod.node >= 0]

    def decide(self, entity: Entity) -> Decision:
        """Return the decision on *entity*.  If a plugin fails, its status is Error, as in kube-scheduler."""
        whole, awaiting = self._without_awaiting(entity)
        within, refused = self._within_limit(whole)
        self._chosen = bool(awaiting) or (bool(refused) and not are_alike(whole))
        decision = self._attempted(within)
        if awaiting or refused:
            decision = with_refused(decision, {**awaiting, **refused})
            self.effects.record(decision)
        return decision

    def _without_awaiting(self, entity: Entity) -> tuple[Entity, dict[str, DevicesAwaited]]:
        """Return *entity* without pods whose claims an earlier root awaits: with these pods its evictions would be in vain."""
        return without_users(entity, self.preemptions.awaited) if self._options.sparing else (entity, {})

    def _within_limit(self, entity: Entity) -> tuple[Entity, dict[str, ClaimFull]]:
        """Return *entity* without pods whose claims have too many consumers; kube-scheduler learns of the limit when it binds."""
        return self._consumers.within_limit(entity) if self._options.sparing else (entity, {})

    def _proved(self, search: Search) -> Search:
        """Return *search*; it proves nothing if pods were left out that others could replace."""
        return dataclasses.replace(search, outcome="not-searched") if self._chosen and search.outcome == "infeasible" else search

    def _attempted(self, entity: Entity) -> Decision:
        stateful = self._greedy.state.stateful
        mark, counted = self._ledger.mark(), stateful.mark()
        try:
            return self._decide(entity)
        except PluginFailedError as error:
            self._ledger.rewind(mark)
            stateful.rewind(counted)
            failed = PluginFailed(error.failure)
            outcome = PlacementOutcome(Status.ERROR, self._greedy.state.topology.root, 0, failed)
            pods = dict.fromkeys((pod.key for leaf in entity.leaves() for pod in leaf.waiting), failed)
            why = Diagnosis(PluginFailed(error.failure, attempt_ended(stateful.plugins)), pods=pods)
            return self._not_placed(self._greedy.request(entity), outcome, None, why, self._greedy.search)

    def _decide(self, entity: Entity) -> Decision:
        mark = self._ledger.mark()
        request = self._greedy.request(entity)
        outcome, search, released = self._outcome(request)
        if self._options.sparing and outcome.success and not keeps_plan(request, outcome, self._nominations):
            self._ledger.rewind(mark)
            if (part := self._planned_part(entity)) is not None:
                decision = with_rest_postponed(self._decide(part), entity, part)
                self.effects.record(decision)
                return decision
            if self._options.preempt and self.preemptions.awaits_victims(entity):
                return self._not_placed(request, *awaiting(request, outcome))
            outcome, search, released = self._outcome(request)
        search = self._proved(search)
        wants_more = outcome.success and self._options.preempt_for_leftovers and self._leaves_over(request, outcome)
        preemption = None
        # No preemption while the search has not decided whether the root fits without it.
        if self._options.preempt and search.outcome != "budget" and (wants_more or not outcome.success):
            outcome, preemption = self.preemptions.run(entity, outcome, proved=search.outcome == "infeasible")
        if outcome.success and not (wants_more and preemption is not None and preemption.victims):
            partly = not request.leaf and not all(
                verdict.status is Status.SUCCESS for verdict in verdicts(request, outcome, self._behavior)
            )
            why = diagnosis.explain(self._greedy, request, outcome, self._causes) if partly else _NOTHING_WRONG
            self._ledger.rewind(mark)
            decision = self._placed(request, outcome, why, search, released)
            return self._with_retry(decision, entity) if partly and not self._options.sparing and self._options.preempt else decision
        why = diagnosis.explain(self._greedy, request, outcome, self._causes)
        later = diagnosis.explain_later(self._greedy, request, why, self._leaving) if not outcome.success and self._leaving else None
        self._ledger.rewind(mark)
        notes = [AttemptNote.CONFLICTS_OVERLOOKED] if preemption is not None and preemption.overlooks else []
        if not self._options.sparing and lacks_state(request, outcome, self._greedy.state.profile):
            outcome = dataclasses.replace(outcome, status=Status.ERROR, reason=AttemptResult.STATE_NOT_FOUND)
            notes.insert(0, AttemptNote.FAILED_BEFORE_DEVICES)
        if later is None:
            return self._not_placed(request, outcome, preemption, why, search, notes)
        return self._not_placed(request, outcome, preemption, later.why, search, [*notes, *without_none(later.note)])

    def _outcome(self, request: PlacementRequest) -> tuple[PlacementOutcome, Search, list[PodRecord]]:
        """Return the result of *request*, its search, and the pods whose nominations do not count for it.

        If it has evicted pods itself, nominations of lower priority count too if it fits whole, so that no eviction is in vain.
        """
        own = self._nominations.release_own(request.entity) if self._options.sparing else []
        mark = self._ledger.mark()
        released = self._nominations.release_lower_priority(request.entity)
        if not (own and released):
            return self._greedy.place(request), self._greedy.search, [*own, *released]
        self._ledger.rewind(mark)
        beside = self._greedy.place(request), self._greedy.search, own
        if not beside[0].success or beside[0].placed < sum(len(leaf.waiting) for leaf in request.entity.leaves()):
            self._nominations.release_lower_priority(request.entity)
            outcome = self._greedy.place(request)
            if outcome.placed > beside[0].placed or not beside[0].success:
                return outcome, self._greedy.search, [*own, *released]
            self._ledger.rewind(mark)
        return beside

    def _planned_part(self, entity: Entity) -> Entity | None:
        """Return *entity* with only the pods of groups with nominations, if that is less and is placed as planned; else None."""
        if (part := planned_part(entity, self._nominations)) is None:
            return None
        mark = self._ledger.mark()
        request = self._greedy.request(part)
        outcome, *_ = self._outcome(request)
        self._ledger.rewind(mark)
        return part if outcome.success and keeps_plan(request, outcome, self._nominations) else None

    def fitting(self, entity: Entity) -> list[tuple[PodRecord, int]] | None:
        """Return the pods of *entity* that could be placed now, with their nodes; None if it cannot be placed.  The state is unchanged."""
        stateful = self._greedy.state.stateful
        mark, counted = self._ledger.mark(), stateful.mark()
        self._nominations.release_for(entity)
        request = self._greedy.request(self._within_limit(self._without_awaiting(entity)[0])[0])
        try:
            outcome = self._greedy.place(request)
        except PluginFailedError:
            stateful.rewind(counted)
            return None
        finally:
            self._ledger.rewind(mark)
        return assigned(request, outcome) if outcome.success else None

    def _placed(
        self, request: PlacementRequest, outcome: PlacementOutcome, why: Diagnosis, search: Search, released: Sequence[PodRecord]
    ) -> Decision:
        outcome, ranks = self._in_rank_order(request, outcome)
        placed = [*assigned_by_leaf(request, outcome)]
        pods = [pair for _, each in placed for pair in each]
        for pod in released:
            self._nominations.release_until_rewind(pod)
        self._greedy.assume(request, outcome, placed)
        pending = diagnosis.leftovers(self._greedy, request, outcome)
        self._nominations.delete_nominations(pod for pod, _ in pods)
        names = self._greedy.state.nodes.names
        volumes, without = self._volumes.choose(pods, outcome.volumes)
        claiming = [pod for pod, _ in pods if pod.device_claims]
        devices, faults = allocate(pods, self._greedy.state.stateful.plugins, self._options) if claiming else ({}, None)
        decision = Decision(
            request.entity.name,
            Status.SUCCESS,
            assignments={pod.key: names[node] for pod, node in sorted(pods, key=lambda pair: pair[0].key)},
            groups=self._groups(request, outcome, why),
            search=search,
            pending={pod: (cause,) for pod, cause in pending.items()},
            volumes=volumes,
            causes=(
                *without_none(diagnosis.volumes_not_held(volumes, without), why.cause),
                *(_sampled(request, outcome) if self._behavior.limits_placements else ()),
                *without_none(faults),
            ),
            devices=devices,
            ranks=ranks,
            behavior=self._behavior,
        )
        if claiming:
            decision = without_unbound_pods(decision, request.entity, claiming, self._options, self._consumers)
        # Only now: the pods can have devices that these nominations hold.
        self._nominations.hold_again(released)
        self._settled(decision)
        if claiming:
            self._consumers.record(decision, claiming)
            self.preemptions.keep_claims(claiming)
            if self._options.sparing and decision.devices:
                self._ledger.take_beyond(devices_beyond_requests(decision, pods, self._greedy.state.nodes))
        return decision

    def _in_rank_order(self, request: PlacementRequest, outcome: PlacementOutcome) -> tuple[PlacementOutcome, tuple[RankedGroup, ...]]:
        """Return *outcome* with its nodes in rank order, and the report on it; unchanged if the order is off."""
        if not self._options.rank_order or not any(is_ranked(leaf) for leaf in request.entity.leaves()):
            return outcome, ()
        order = RankOrder(request, self._greedy.state.nodes, self._greedy.state.stateful.selection)
        outcome = order.apply(request, outcome)
        return outcome, tuple(order.report(request, outcome))

    def _not_placed(
        self,
        request: PlacementRequest,
        outcome: PlacementOutcome,
        preemption: Preemption[Proposal] | Preemption[None] | None,
        why: Diagnosis,
        search: Search,
        notes: Iterable[Cause] = (),
    ) -> Decision:
        nominations = preemption.nominations if preemption is not None else {}
        victims = preemption.victims if preemption is not None else ()
        names = self._greedy.state.nodes.names
        searched, missed = search_verdict(search), PlacementMissed(why.limits) if why.limits else None
        if isinstance(why.cause, DeletionsAwaited):
            searched = missed = None
        doubt = without_none(None if isinstance(searched, NoPlacementExists) else missed)
        decision = Decision(
            request.entity.name,
            outcome.status,
            causes=without_none(why.cause, *notes, searched or missed),
            nominations={key: names[node] for key, node in sorted(nominations.items())},
            victims=tuple(sorted(pod.key for pod in victims)),
            groups=self._groups(request, outcome, why),
            search=search,
            pending={pod: (cause, *doubt) for pod, cause in why.pods.items()},
            preemption=eviction_quality(preemption),
            post_filter=preemption.reason if preemption is not None else None,
            behavior=self._behavior,
        )
        kept = keeps_nominations(decision, preempts=request.entity.preempts)
        self._settled(decision)
        waiting = [pod for leaf in request.entity.leaves() for pod in leaf.waiting]
        self.preemptions.await_claims(pod for pod in waiting if pod.key in nominations)
        nominated = [(pod, nominations[pod.key]) for pod in waiting if pod.key in nominations]
        nominate(self._greedy.state, nominated, preemption.devices if preemption is not None else {})
        if not kept:
            self._nominations.withdraw_all(pod for pod in waiting if pod.key not in nominations)
        return decision

    def _settled(self, decision: Decision) -> None:
        """Record *decision*, and make the assumed pods permanent."""
        self.effects.record(decision)
        self._ledger.forget()
        self._greedy.state.stateful.forget()

    def _leaves_over(self, request: PlacementRequest, outcome: PlacementOutcome) -> bool:
        """Return whether a root that was satisfied before has pods without a node: any pod of a gang, or all pods of a basic group."""
        if not any(leaf.running for leaf in request.entity.leaves()):
            return False
        waiting = sum(len(leaf.waiting) for leaf in request.entity.leaves())
        return outcome.placed < waiting if request.entity.gang else outcome.placed == 0

    def _with_retry(self, decision: Decision, entity: Entity) -> Decision:
        """Return *decision*, which places a part of *entity*, with the results of its other groups after the next attempt.

        kube-scheduler retries such a root at once, and then writes the conditions of these groups again.  A preemption for what is left over
        is not decided here.
        """
        mark = self._ledger.mark()
        index = self._greedy.state.nodes.index
        rest = with_placed(entity, {pod: index[node] for pod, node in decision.assignments.items()})
        request = self._greedy.request(rest)
        try:
            outcome = self._greedy.place(request)
            preemption = None if outcome.success else self.preemptions.run(rest, outcome, proved=False)[1]
        except PluginFailedError:
            return decision
        finally:
            self._ledger.rewind(mark)
        if preemption is None or preemption.nominations:
            return decision
        reasons = {verdict.name: verdict.reason for verdict in verdicts(request, outcome, self._behavior)}
        groups = tuple(
            each
            if each.status is Status.SUCCESS
            else dataclasses.replace(each, reason=reasons.get(each.group) or each.reason, retried=preemption.reason)
            for each in decision.groups
        )
        return dataclasses.replace(decision, groups=groups)

    def _groups(self, request: PlacementRequest, outcome: PlacementOutcome, why: Diagnosis) -> tuple[GroupDecision, ...]:
        if request.entity.name.kind == "Pod":
            return ()
        decisions = []
        for verdict in verdicts(request, outcome, self._behavior):
            causes = without_none(why.groups.get(verdict.name) or verdict.reason)
            before = self._conditions.present(verdict.name)
            decisions.append(GroupDecision(verdict.name, verdict.status, causes, verdict.domain, verdict.reason, before))
        return tuple(decisions)


def _sampled(request: PlacementRequest, outcome: PlacementOutcome) -> Iterator[PlacementsSampled]:
    """Yield the groups of a success for which kube-scheduler compares only some placements: it can choose another one of them."""
    if outcome.sampled is not None:
        yield PlacementsSampled(request.entity.name, *outcome.sampled, request.entity.key)
    for child, each in zip(request.children, outcome.children, strict=False):
        if each is not None and each.success:
            yield from _sampled(child, each)


def without_none(*causes: Cause | None) -> tuple[Cause, ...]:
    """Return those of *causes* that there are."""
    return tuple(each for each in causes if each is not None)
