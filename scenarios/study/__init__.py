"""Studies: where the ticks of a kernel go, what would change them, and thousands of points a minute."""
