"""Search: where the sum of squares of a fit is least: starts, refits, discrete choices, hops, whole numbers."""
