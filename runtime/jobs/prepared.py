"""Prepared metadata: an admitted plan with its relocatable packet, reusable by any number of jobs."""

from collections import Counter

import attrs

from tessbed.kernels.ev74.codec import Packet
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.plan import Plan
from tessbed.kernels.plan_check import check_plan
from tessbed.runtime.errors import LifetimeError
from tessbed.runtime.jobs.capability import Need


@attrs.define(eq=False, repr=False)
class PreparedJob:
    """A plan and its packet template, None for an empty plan. `users` are the jobs that retain it."""

    plan: Plan
    packet: Packet | None
    users: Counter[str] = attrs.field(factory=Counter, init=False)

    def hold(self, holder: str) -> None:
        """One more job retains it."""
        self.users[holder] += 1

    def drop(self, holder: str) -> None:
        """A job releases it. Raises LifetimeError where it did not hold it."""
        if self.users[holder] < 1:
            raise LifetimeError(f"prepared metadata: {holder} drops a reference that it does not have")
        self.users[holder] -= 1
        if not self.users[holder]:
            del self.users[holder]

    @property
    def needs(self) -> Need:
        """What the firmware image must hold."""
        return Need.of(self.plan)


def prepare(plan: Plan) -> PreparedJob:
    """Encode `plan`. Raises NotRepresentable where the packet can not hold it."""
    return PreparedJob(check_plan(plan), None if plan.empty else encode_plan(plan))
