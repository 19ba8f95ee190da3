"""What holds for every test: hypothesis draws the same examples on every run, and does not watch the clock."""

from hypothesis import settings

settings.register_profile("tessbed", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("tessbed")
