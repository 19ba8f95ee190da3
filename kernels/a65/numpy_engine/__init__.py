"""What the numpy rows are made of: steps over strided views, straight or by way of scratch."""
