"""Limited capacity that requests share: bytes of bodies, or turns.  The smallest waits least.

Everything here runs in the event loop, so there are no locks.  A claim is dropped by its own deadline, which ``asyncio.timeout``
turns into an exception in the task that holds it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import heapq
import itertools
import math

SHORTEST_SECONDS = 0.01
"""Shortest time between two looks for claims to drop."""


@dataclasses.dataclass(eq=False, slots=True)
class Claim:
    """Part of a share that one request holds or waits for.

    Attributes:
        units: size of the part.
        deadline: deadline of the task that holds the claim.
        since: time of the grant, in seconds of the event loop.
        settled: True once the claim must not be dropped, as its request is complete.
        dropped: True if the claim was dropped in favour of another.

    """

    units: int
    deadline: asyncio.Timeout
    since: float = math.inf
    settled: bool = False
    dropped: bool = False

    @property
    def is_ending(self) -> bool:
        """Return True if the claim is about to be released: it was dropped, or its deadline is over."""
        return self.dropped or self.deadline.expired()

    def cost(self, now: float) -> float:
        """Return the units times the seconds for which they are held: large and slow requests cost most."""
        return self.units * (now - self.since)


class Share:
    """Capacity of which each request claims a part, in order of size.

    While a request waits, claims that are older than *patience* seconds and not settled are dropped, the most costly first.
    """

    def __init__(self, capacity: int, *, patience: float = math.inf, most_waiting: float = math.inf) -> None:
        self._capacity, self._patience, self._most_waiting = capacity, patience, most_waiting
        self._used = 0
        self._held: set[Claim] = set()
        self._waiting: list[tuple[float, int, Claim, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._check: asyncio.TimerHandle | None = None

    @property
    def used(self) -> int:
        """Return the units that are claimed."""
        return self._used

    @property
    def waiting(self) -> int:
        """Return the number of requests that wait."""
        return sum(not future.done() for *_, future in self._waiting)

    async def claim(self, units: int, deadline: asyncio.Timeout, order: float | None = None) -> Claim:
        """Wait until *units* are free, and return the claim; a smaller *order*, by default *units*, comes first.

        Raises:
            TimeoutError: *deadline* is over (raised by its ``async with``), or too many wait.
        """
        claim = Claim(min(units, self._capacity), deadline)
        if not self._waiting and self._fits(claim):
            self._grant(claim)
            return claim
        if self.waiting >= self._most_waiting:
            raise TimeoutError
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (units if order is None else order, next(self._numbers), claim, future))
        self._drop_costly()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                # Granted and cancelled in the same pass of the event loop.
                self.release(claim)
            self._grant_waiting()
            raise
        return claim

    def release(self, claim: Claim) -> None:
        """Return the units of *claim*, and grant those that wait for them."""
        self._held.remove(claim)
        self._used -= claim.units
        self._grant_waiting()

    def _fits(self, claim: Claim) -> bool:
        return self._used + claim.units <= self._capacity

    def _grant(self, claim: Claim) -> None:
        self._used += claim.units
        self._held.add(claim)
        claim.since = asyncio.get_running_loop().time()

    def _grant_waiting(self) -> None:
        while self._waiting:
            _, _, claim, future = self._waiting[0]
            if not future.done():
                if not self._fits(claim):
                    self._schedule_check()
                    return
                self._grant(claim)
                future.set_result(None)
            heapq.heappop(self._waiting)

    def _drop_costly(self) -> None:
        """Drop the most costly claims until the first that waits fits without them; come back while some wait."""
        self._check = None
        self._grant_waiting()
        if not self._waiting:
            return
        now = asyncio.get_running_loop().time()
        free = self._capacity - self._used + sum(each.units for each in self._held if each.is_ending)
        candidates = [each for each in self._held if not each.settled and not each.is_ending and now - each.since >= self._patience]
        for claim in sorted(candidates, key=lambda each: each.cost(now), reverse=True):
            if free >= self._waiting[0][2].units:
                break
            claim.dropped = True
            claim.deadline.reschedule(now)
            free += claim.units
        self._schedule_check()

    def _schedule_check(self) -> None:
        """Look again when the next claim is older than the patience."""
        if self._check is None and (ages := [each.since for each in self._held if not each.settled and not each.is_ending]):
            when = min(ages) + self._patience
            if when < math.inf:
                loop = asyncio.get_running_loop()
                self._check = loop.call_at(max(when, loop.time() + SHORTEST_SECONDS), self._drop_costly)
