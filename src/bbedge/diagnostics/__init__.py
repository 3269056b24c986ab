"""Do the assumptions look right? Tests with known false-alarm rates, and what they found in words.

:mod:`assumptions` runs every test on the scores: dependence between blocks, halves of a model's own runs, stability of
ranks, places in the first run. :mod:`repetition` finds runs that repeat each other. :mod:`judge_noise` splits the noise
of judged answers. :mod:`constant_items` counts items that tell no models apart. :mod:`findings` says of each result
what was found, what it does not show, and what to do.

Each test that can raise an alarm has a share of ``ALARM_LEVEL``; a new one takes its share from the others. Programs
read the kind and the verdict of a finding, never its sentences.
"""
