"""Shares: who gets a part, who waits, and who is dropped for others."""

import asyncio
import math

import pytest

from webhooks.server.shares import Share


class Holder:
    """Task that claims *units*, holds them until it is released, and records what happened."""

    def __init__(self, share, units, record, name, *, settled=False, order=None):
        self.share, self.units, self.record, self.name, self.settled, self.order = share, units, record, name, settled, order
        self.end = asyncio.Event()
        self.task = asyncio.create_task(self.run())

    async def run(self):
        try:
            async with asyncio.timeout(30) as deadline:
                claim = await self.share.claim(self.units, deadline, self.order)
                self.record.append(self.name)
                claim.settled = self.settled
                try:
                    await self.end.wait()
                finally:
                    self.share.release(claim)
        except TimeoutError:
            self.record.append(f"{self.name} dropped")

    async def stop(self):
        self.end.set()
        await self.task


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


def test_the_smallest_waits_least_and_capacity_is_never_exceeded():
    async def run():
        share, record = Share(10), []
        first = Holder(share, 8, record, "first")
        await settle()
        others = [Holder(share, units, record, f"{units}") for units in (9, 7, 4, 3)]
        await settle()
        assert (["first"], 8, 4) == (record, share.used, share.waiting)

        await first.stop()
        await settle()
        assert (["first", "3", "4"], 7) == (record, share.used)
        small = Holder(share, 2, record, "small")
        await settle()
        assert 9 == share.used, "it fits, so it does not wait for larger ones"
        for each in (small, *reversed(others)):
            await each.stop()
        return record, share.used, share.waiting

    assert (["first", "3", "4", "small", "7", "9"], 0, 0) == asyncio.run(run())


def test_the_order_may_be_another_than_the_size():
    async def run():
        share, record = Share(1), []
        first = Holder(share, 1, record, "first")
        await settle()
        others = [Holder(share, 1, record, order, order=order) for order in (30, 10, 20)]
        await settle()
        await first.stop()
        for each in (others[1], others[2], others[0]):
            await each.stop()
        return record

    assert ["first", 10, 20, 30] == asyncio.run(run())


def test_the_largest_unsettled_request_is_dropped_while_others_wait():
    async def run():
        share, record = Share(10, patience=0.0), []
        holders = [Holder(share, 2, record, "small"), Holder(share, 5, record, "large"), Holder(share, 3, record, "done", settled=True)]
        await asyncio.sleep(0.02)
        assert 10 == share.used

        holders.append(Holder(share, 4, record, "new"))
        await settle()
        result = list(record)
        for each in holders:
            await each.stop()
        return result, share.used

    assert (["small", "large", "done", "large dropped", "new"], 0) == asyncio.run(run())


def test_what_is_held_for_less_than_the_patience_is_not_dropped():
    async def run():
        share, record = Share(10, patience=3600.0), []
        holders = [Holder(share, 10, record, "first"), Holder(share, 10, record, "second")]
        await asyncio.sleep(0.05)
        result = list(record)
        for each in holders:
            await each.stop()
        return result

    assert ["first"] == asyncio.run(run())


def test_a_claim_is_dropped_once_its_patience_is_over_without_another_call():
    async def run():
        share, record = Share(10, patience=0.05), []
        holders = [Holder(share, 10, record, "first"), Holder(share, 10, record, "second")]
        await holders[0].task
        await settle()
        result = list(record)
        await holders[1].stop()
        return result

    assert ["first", "first dropped", "second"] == asyncio.run(run())


def test_a_claim_whose_deadline_is_over_is_not_dropped_again():
    async def run():
        share, record = Share(10, patience=0.0), []
        first = Holder(share, 10, record, "first")
        await settle()
        (claim,) = share._held
        # The second claims after the deadline of the first, and before the task of the first notices.
        claim.deadline.reschedule(asyncio.get_running_loop().time())
        second = Holder(share, 5, record, "second")
        await first.task
        await settle()
        result = list(record), claim.dropped
        await second.stop()
        return result

    assert (["first", "first dropped", "second"], False) == asyncio.run(run())


def test_too_many_do_not_wait():
    async def run():
        share, record = Share(1, most_waiting=2), []
        holders = [Holder(share, 1, record, number) for number in range(4)]
        await settle()
        result = list(record), share.waiting
        for each in holders:
            await each.stop()
        return result

    assert ([0, "3 dropped"], 2) == asyncio.run(run())


@pytest.mark.parametrize("granted", [pytest.param(False, id="while it waits"), pytest.param(True, id="in the pass in which it is granted")])
def test_a_cancelled_request_takes_nothing_with_it(granted):
    async def run():
        share, record = Share(5), []
        first = Holder(share, 5, record, "first")
        await settle()
        second, third = Holder(share, 5, record, "second"), Holder(share, 5, record, "third")
        await settle()
        if granted:
            # The task of the first ends, and grants the second, before the second runs.
            first.end.set()
            while share.waiting == 2:
                await asyncio.sleep(0)
        second.task.cancel()
        await asyncio.gather(second.task, return_exceptions=True)
        await first.stop()
        await settle()
        result = record[-1], share.used, share.waiting
        await third.stop()
        return result, share.used

    assert (("third", 5, 0), 0) == asyncio.run(run())


def test_what_waits_behind_a_cancelled_request_is_granted():
    async def run():
        share, record = Share(10), []
        first = Holder(share, 6, record, "first")
        await settle()
        large, small = Holder(share, 5, record, "large", order=1), Holder(share, 3, record, "small", order=2)
        await settle()
        large.task.cancel()
        await asyncio.gather(large.task, return_exceptions=True)
        await settle()
        result = list(record)
        for each in (first, small):
            await each.stop()
        return result

    assert ["first", "small"] == asyncio.run(run())


def test_a_claim_above_the_capacity_gets_all_of_it():
    async def run():
        share, record = Share(10), []
        holder = Holder(share, math.inf, record, "all")
        await settle()
        used = share.used
        await holder.stop()
        return used, record

    assert (10, ["all"]) == asyncio.run(run())
