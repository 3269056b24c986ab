"""Submissions: one file with the scores of models, for a board that another team keeps.

``archive`` makes the file, and opens one, which may come from anyone: what it lists is what it has, and nothing else is
unpacked. ``check`` computes again what it states and tries it on a copy of the board; ``confined`` runs that
in a process of its own, without network, secrets or more memory and time than it is given. ``add`` puts the scores of
a checked submission on the board.
"""
