"""How fast the A65 executor is, beside a plain copy and beside what a user of numpy would write."""
