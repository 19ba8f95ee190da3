"""Domain of a fit: which workers, sizes and operations its experiments covered; studies beyond it extrapolate."""

from collections.abc import Sequence

from tessbed.scenarios.model import ScenarioJob
from tessbed.scenarios.provenance.tick_basis import job_kind, output_bytes
from tessbed.scenarios.study.calibration.estimate import Domain
from tessbed.scenarios.study.calibration.experiment import Experiment


def domain_of(experiments: Sequence[Experiment]) -> Domain:
    """What experiments cover."""
    workers = [one.workers for one in experiments]
    sizes = [_bytes(one) for one in experiments]
    jobs = {job_kind(one.job) for one in experiments}
    return Domain((min(workers), max(workers)), (min(sizes), max(sizes)), tuple(sorted(jobs)))


def _bytes(one: Experiment) -> int:
    """The bytes that it writes; a kernel of one's own is prepared, and knows them."""
    size = output_bytes(one.job)
    if size is not None or isinstance(one.job, ScenarioJob):
        return size or 0
    return sum(port.required_bytes for port in one.job.planned.outputs)
