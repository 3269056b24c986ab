"""Leaderboards beyond one machine's memory: the pair matrix in tiles, which live in a folder.

:mod:`run` is the folder, its files and what is frozen in it, :mod:`strips` brings a panel in, :mod:`work` is what is
done for one tile, :mod:`bits` concludes from a packed matrix of edges, :mod:`leaderboard` puts it together.
"""

from bbedge.scale.bits import PackedGraph
from bbedge.scale.leaderboard import TiledLeaderboard
from bbedge.scale.run import TiledLook
from bbedge.scale.work import Tile

__all__ = ["PackedGraph", "Tile", "TiledLeaderboard", "TiledLook"]
