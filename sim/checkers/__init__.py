"""What must hold of a job: no race in memory, no hazard in scratch, no statistic that does not add up."""
