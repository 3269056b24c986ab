"""What holds for all tests."""

from hypothesis import settings

# How long an example takes depends on the machine and on what else it does.
settings.register_profile("bbedge", deadline=None)
settings.load_profile("bbedge")
