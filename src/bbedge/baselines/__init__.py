"""The rivals: other ways of turning repeated runs into claims, one contract for all.

Every method takes a design and panels (replicates x models x items, in [0, 1]) and says what it would claim at every
look: edges, as replicates x models x models, or rank intervals, as replicates x models x 2. On scores that lack what
it needs, such as a second run, it answers :class:`NotApplicable`. What each assumes, and whether it may be looked at
repeatedly, is in its docstring and in :data:`METHODS`.
"""

from bbedge.baselines.methods import METHODS, Method, NotApplicable, Target, Validity, method

__all__ = ["METHODS", "Method", "NotApplicable", "Target", "Validity", "method"]
