"""Held resources: one reference each, by role, given back once and in reverse."""

from tessbed.runtime.jobs.held_resources import Owners


class Counted:
    """A resource that notes who holds and drops it."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def hold(self, holder: str) -> None:
        self.log.append(f"+{self.name} {holder}")

    def drop(self, holder: str) -> None:
        self.log.append(f"-{self.name} {holder}")


def test_references_are_held_by_role_and_dropped_once() -> None:
    """Each is held under the job's name and the role, dropped in reverse under the same, and never twice."""
    log: list[str] = []
    one, two, three = (Counted(name, log) for name in "abc")
    owners = Owners("job 4")
    owners.hold("input", [one, two])
    owners.hold("output", [three])
    assert (len(owners.held), owners.acquired) == (3, 3)
    owners.release()
    owners.release()
    assert log == [
        "+a job 4 (input)", "+b job 4 (input)", "+c job 4 (output)",
        "-c job 4 (output)", "-b job 4 (input)", "-a job 4 (input)",
    ]  # fmt: skip
    assert (owners.held, owners.acquired) == ([], 3)


def test_one_resource_in_two_roles() -> None:
    """A buffer that is a job's input and output is held, and dropped, once for each."""
    log: list[str] = []
    buffer, owners = Counted("a", log), Owners("job 4")
    owners.hold("input", [buffer])
    owners.hold("output", [buffer])
    owners.release()
    assert log == ["+a job 4 (input)", "+a job 4 (output)", "-a job 4 (output)", "-a job 4 (input)"]


def test_what_can_not_be_held_is_not_counted() -> None:
    """A resource that refuses leaves what was held before it, and only that, to be dropped."""
    log: list[str] = []

    class Refusing(Counted):
        def hold(self, holder: str) -> None:
            raise RuntimeError(holder)

    owners = Owners("job 4")
    try:
        owners.hold("input", [Counted("a", log), Refusing("b", log)])
    except RuntimeError as error:
        log.append(str(error))
    owners.release()
    assert log == ["+a job 4 (input)", "job 4 (input)", "-a job 4 (input)"]
    assert owners.acquired == 1
