"""Prepared metadata: an admitted plan with its relocatable packet, reusable by any number of jobs."""

from collections import Counter

import attrs

from tessbed.kernels.ev74.codec import Packet
from tessbed.kernels.ev74.encode import encode_plan
from tessbed.kernels.plan import Plan
from tessbed.kernels.plan_check import check_plan
from tessbed.runtime.errors import LifetimeError
from tessbed.runtime.jobs.capability import Need


def _template(prepared: "PreparedJob") -> Packet | None:
    return None if prepared.plan.empty else encode_plan(prepared.plan)


@attrs.define(eq=False, repr=False)
class PreparedJob:
    """A plan and its packet template, None for an empty plan. `users` are the jobs that retain it.

    The packet is made from the plan and neither changes: the one says what is checked, the other what is touched.
    Raises ContractError for what is no plan of admission's, NotRepresentable where a packet can not hold it.
    """

    plan: Plan = attrs.field(converter=check_plan, on_setattr=attrs.setters.frozen)
    packet: Packet | None = attrs.field(
        default=attrs.Factory(_template, takes_self=True), init=False, on_setattr=attrs.setters.frozen
    )
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
    """Encode `plan`. Raises ContractError, NotRepresentable where the packet can not hold it."""
    return PreparedJob(plan)
