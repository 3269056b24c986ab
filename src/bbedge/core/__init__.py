"""The statistics: NumPy and SciPy only; no files, no clock, no global random state, no printing.

From the inside out: :mod:`stakes`, :mod:`blocks` and :mod:`design` say what is frozen beforehand;
:mod:`scores` holds panels; :mod:`predictions`, :mod:`penalties` and :mod:`evidence` turn panels into e-processes;
:mod:`eholm` certifies; :mod:`graph` and :mod:`margins` say what follows; :mod:`leaderboard` puts it together.
"""
