"""Leaderboards beyond one machine's memory: the pair matrix in tiles, which live in a folder.

:mod:`folder` has the files and what is frozen in them, :mod:`tiles` brings a panel in, strip by strip, and does the
work on one tile, :mod:`leaderboard` puts it together and concludes from a packed matrix of edges.

What is derived from a state is written before the state that says so, so that every step can be repeated after a kill:
keep that order. What is concluded is what :mod:`bbedge.core` concludes with all pairs in memory.
"""

from bbedge.scale.folder import TiledLook
from bbedge.scale.leaderboard import PackedGraph, TiledLeaderboard
from bbedge.scale.tiles import Tile

__all__ = ["PackedGraph", "Tile", "TiledLeaderboard", "TiledLook"]
