"""Golden bytes: by hand, and the recorded SHA-256 of real models' tensors."""
