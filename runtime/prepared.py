"""Prepared metadata: an admitted plan with its relocatable packet, reusable by any number of jobs.

One row for each operation says who encodes it.
"""

from collections import Counter

import attrs

from tessbed.kernels.errors import ContractError
from tessbed.kernels.ev74 import detess, detesscast, tess
from tessbed.kernels.ev74.fields import VERSION_MAJOR, VERSION_MINOR
from tessbed.kernels.ev74.packet import Packet
from tessbed.kernels.plan import Op, Plan
from tessbed.runtime.errors import LifetimeError

ENCODERS = {
    Op.TESS: tess.encode_relocatable,
    Op.DETESS: detess.encode_relocatable,
    Op.DETESSCAST: detesscast.encode_relocatable,
}


@attrs.define(eq=False, repr=False)
class Prepared:
    """A plan and its packet template, None for an empty plan. `users` are the jobs that retain it."""

    plan: Plan
    packet: Packet | None
    users: Counter[str] = attrs.field(factory=Counter, init=False)

    def hold(self, holder: str) -> None:
        """One more job retains it."""
        self.users[holder] += 1

    def drop(self, holder: str) -> None:
        """A job lets go of it. Raises LifetimeError where it did not hold it."""
        if self.users[holder] < 1:
            raise LifetimeError(f"prepared metadata: {holder} drops a reference that it does not have")
        self.users[holder] -= 1
        if not self.users[holder]:
            del self.users[holder]

    @property
    def needs(self) -> tuple[str, str, tuple[int, int]]:
        """(operation, dtype of the worker, packet version) that the firmware image must hold."""
        return self.plan.op.value, self.plan.tiled_dtype.value, (VERSION_MAJOR, VERSION_MINOR)


def prepare(plan: Plan) -> Prepared:
    """Encode `plan`. Raises NotRepresentable where the packet can not hold it."""
    if not isinstance(plan, Plan):
        raise ContractError("plan_type", "plan", f"got {type(plan).__name__}, wanted a Plan of check_inference")
    return Prepared(plan, None if plan.empty else ENCODERS[plan.op](plan))
