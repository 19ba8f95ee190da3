"""Check of a user's kernel: is it right at every size, device, grid and order that the rules allow?"""
