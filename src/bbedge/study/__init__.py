"""Experiments whose truth is known: synthetic benchmarks, contenders, and how right their claims were.

:mod:`synthetic` draws panels with known means, :mod:`contenders` names who takes part and says how right a claim was.
:mod:`study` has what a study is; a setting says what one repetition draws, runs and measures. :mod:`monte_carlo` runs
repetitions in chunks, each seeded by itself and kept on disk, and sums them up.

A new experiment is a module or an entry in :mod:`experiments`, listed in its ``STUDIES``. What a repetition draws
depends on seed, study, setting and number alone: keep it so, or committed results can no longer be made again.
"""
