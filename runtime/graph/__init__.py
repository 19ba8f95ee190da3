"""A few operations over named tensors, checked as a whole, with shared intermediates."""
