"""Legal orders of a job, tried one after the other, by dependences alone, without ticks."""
