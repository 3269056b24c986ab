"""The statistics: NumPy and SciPy on records; no files, no clock, no global random state, no printing.

From the inside out: :mod:`stakes`, :mod:`panels` and :mod:`design` say what is frozen beforehand; :mod:`scores` holds
panels, and :mod:`arrays` says on which device arrays are; :mod:`predictions`, :mod:`penalties` and :mod:`evidence` turn
panels into e-processes, with stakes that :mod:`fitting` chooses as they enter; :mod:`checkpoint_evidence` those inside
the first run and :mod:`new_items` those of new items; :mod:`eholm` certifies; :mod:`graph`, :mod:`margins` and
:mod:`bounds` say what follows; :mod:`certifier` feeds all views, :mod:`conclusions` is what it finds, and
:mod:`leaderboard` makes it of scores in one call.

Touch nothing here without a second way to compute it: ``tests/oracle.py`` has the definitions, literally. Rounding may
lower evidence and never raise it, and a search returns the side that keeps the guarantee.
"""
