"""The tiled leaderboard: takes in panels one by one, tile by tile, and concludes from what the tiles hold.

Its graph is kept as rows of bits: 50,000 models take 312 MB.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import groupby, product, starmap
from operator import itemgetter
from pathlib import Path
from typing import get_args

import numpy as np

from bbedge.core.arrays import Floats, Ints, Mask
from bbedge.core.design import Design
from bbedge.core.eholm import log_threshold_of
from bbedge.core.graph import Ranks
from bbedge.core.paths import Bits, close, empty, packed, unpacked
from bbedge.errors import DataError, DesignError, DomainError
from bbedge.scale.folder import TiledLook, TiledProgress, TiledRun, locked, out_of_step, remove_unfinished
from bbedge.scale.tiles import (
    Panel,
    PanelLike,
    Tile,
    TileTask,
    add_replicate,
    add_strip,
    certify,
    load_mixture,
    one_thread,
    read_first,
    read_tile,
    strip_means,
)
from bbedge.text import shown_path
from bbedge.workers import Backend, Crew

_ROWS = 256  # that are worked on at a time, so that temporaries stay small; a multiple of 64


class TiledLeaderboard:
    """A leaderboard whose pair matrix is kept in tiles, in a folder; certifies what :class:`bbedge.Certifier` does.

    Memory: every worker holds a few tile x tile matrices per stake or block size and the scores of two strips of
    models, whatever the number of models. The folder holds everything else; on a cluster it must be on a file
    system that all machines share.

    A killed update is finished by the next one with the same panel. Any backend gives the same bytes.

    **Guarantee:** that of :class:`bbedge.Certifier`: the tiles are parts of one family, certified together.

    **Needs:** what :class:`bbedge.Evidence` needs; predictions by the running mean.

    >>> import tempfile
    >>> design = Design.make(["a", "b", "c"], ["q1", "q2", "q3", "q4"], holm="direct")
    >>> board = TiledLeaderboard.create(Path(tempfile.mkdtemp()) / "run", design, tile=2)
    >>> for replicate in range(1, 7):
    ...     look = board.update([[1.0] * 4, [0.5] * 4, [0.0] * 4], replicate=replicate)
    >>> look.edges, board.rank_intervals()
    (3, ((1, 1), (2, 2), (3, 3)))
    """

    def __init__(self, run: TiledRun) -> None:
        self._run = run

    @classmethod
    def create(cls, folder: str | os.PathLike[str], design: Design, *, tile: int = 2000) -> TiledLeaderboard:
        """Begin a run in a folder of its own, with tiles of ``tile`` x ``tile`` models."""
        return cls(TiledRun.create(Path(folder).absolute(), design, tile))

    @classmethod
    def open(cls, folder: str | os.PathLike[str], design: Design | None = None) -> TiledLeaderboard:
        """Open a run; with a design, only if the run has exactly this one."""
        run = TiledRun.open(Path(folder).absolute())
        if design is not None and design != run.design:
            raise DesignError(
                f"{shown_path(run.folder)}: the run there has another design; open it without one to see which"
            )
        return cls(run)

    @property
    def design(self) -> Design:
        """The frozen design."""
        return self._run.design

    @property
    def looks(self) -> tuple[TiledLook, ...]:
        """The history of looks."""
        return self._run.progress().looks

    @property
    def replicates(self) -> int:
        """Number of replicates that all tiles have."""
        return len(self.looks)

    @property
    def shape(self) -> tuple[int, int]:
        """Tiles down and across."""
        return self._run.n_strips, self._run.n_strips

    def update(
        self,
        panel: PanelLike,
        *,
        replicate: int | None = None,
        backend: Backend = "serial",
        workers: int | None = None,
        address: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> TiledLook:
        """Add the next replicate and look: an array of models x items, or the path of a ``.npy`` file.

        ``replicate`` is the number of the replicate, from 1. With it, a panel that was added already is not
        added again, so that a script can simply start over after a crash. ``backend`` is ``serial`` (a tile at a time),
        ``joblib`` (this machine's cores) or ``ray`` (a cluster, at ``address`` or started here). ``progress`` is
        called with the steps done so far and their total.
        """
        if backend not in get_args(Backend):
            raise DomainError(f"unknown backend {backend!r}; choose one of {', '.join(get_args(Backend))}")
        run = self._run
        with locked(run.folder / "lock"):
            before, scores = run.progress(), Panel(run, panel)
            digest, number = scores.digest(), len(before.looks) + 1
            done = _already(before, digest, replicate)
            if done is not None:
                return done
            with Crew(backend, workers=workers, address=address) as crew:
                remove_unfinished(run.folder)
                run.write(replace(before, begun=digest))
                for strip in range(run.n_strips):
                    add_strip(run, strip, scores, number)
                look = self._look(crew, number, digest, progress)
            run.write(TiledProgress(looks=(*before.looks, look)))
        return look

    def _look(self, crew: Crew, number: int, digest: str, progress: Callable[[int, int], None]) -> TiledLook:
        """Both passes over the tiles: the evidence first, and when all of it is known, the certificates."""
        run, alpha = self._run, self._run.design.certificate_alpha
        tasks = [TileTask(run.folder, run.digest, row, col, number) for row, col in run.tiles()]

        def collected(results: Iterator[tuple[float, float]], *, before: int) -> list[tuple[float, float]]:
            kept = []
            for steps, result in enumerate(results, start=before + 1):
                kept.append(result)
                progress(steps, 2 * len(tasks))
            return kept

        weak = collected(crew.map_unordered(add_replicate, tasks), before=0)
        # Added without error and rounded once, in whatever order the tiles came.
        deficits, directions = (math.fsum(part) for part in zip(*weak, strict=True))
        terms = 2 * run.tile + 1
        threshold = float(log_threshold_of(np.float64(deficits), alpha, directions=int(directions), terms=terms))
        tasks = [replace(task, log_threshold=threshold) for task in tasks]
        certified = collected(crew.map_unordered(certify, tasks), before=len(tasks))
        current, edges = (int(sum(part)) for part in zip(*certified, strict=True))
        return TiledLook(
            replicate=number,
            edges=edges,
            current_edges=edges if run.design.has_memory else current,
            log_threshold=threshold,
            panel=digest,
        )

    def _finished(self) -> int:
        """The number of replicates, if no update is under way."""
        done = self._run.progress()
        if done.begun is not None:
            raise DataError(
                f"{shown_path(self._run.folder)}: replicate {len(done.looks) + 1} is not complete; "
                "update with its panel again"
            )
        return len(done.looks)

    def means(self) -> Floats:
        """Mean score of every model on the [0, 1] scale; NaN before the first replicate."""
        done, strips = self._finished(), range(self._run.n_strips)
        return np.concatenate([strip_means(self._run, strip, done) for strip in strips])

    def tile(self, row: int, col: int) -> Tile:
        """The tile of a row strip and a column strip, counted from 0."""
        return read_tile(self._run, *self._place(row, col), self._finished())

    def tiles(self) -> Iterator[Tile]:
        """All tiles, row by row, one at a time."""
        yield from starmap(self.tile, product(range(self._run.n_strips), repeat=2))

    def lower_bounds(self, row: int, col: int) -> Floats:
        """Lower bounds of the differences of a tile, simultaneous over all tiles and looks; NaN where not tested.

        **Guarantee:** with probability at least ``1 - alpha`` those of all tiles hold, at every look at once.
        """
        row, col = self._place(row, col)
        tested, done = self._run.tested(row, col), self._finished()
        if not done or not tested.any():
            return np.where(tested, -1.0, np.nan)
        with one_thread():
            mixture, count = load_mixture(self._run, row, col, fresh=False)
            if count != done:
                raise out_of_step(self._run.tile_file(row, col, "state"), count, done)
            bounds = mixture.lower_bounds(self.design.n_directions)
        if self.design.is_joint:  # where both hold, a certified direction exceeds tau
            bounds = np.where(read_first(self._run, row, col, done) > 0, np.maximum(bounds, self.design.tau), bounds)
        return np.where(tested, bounds, np.nan)

    def _place(self, row: int, col: int) -> tuple[int, int]:
        most = self._run.n_strips - 1
        if not (0 <= row <= most and 0 <= col <= most):
            raise DomainError(f"there is no tile {row}, {col}; rows and columns are counted from 0 to {most}")
        return row, col

    def graph(self) -> PackedGraph:
        """Everything certified at any look so far."""
        done = self._finished()
        return self._packed(lambda row, col: read_first(self._run, row, col, done) > 0)

    def current_graph(self) -> PackedGraph:
        """What was certified at the last look; in a design with memory, everything so far."""
        if self.design.has_memory:
            return self.graph()
        done, looks = self._finished(), self.looks
        return self._packed(lambda row, col: read_tile(self._run, row, col, done).log_e >= looks[-1].log_threshold)

    def _packed(self, edges_of: Callable[[int, int], Mask]) -> PackedGraph:
        """A strip of rows is unpacked at a time: tiles need not end where a byte does."""
        run, n_models = self._run, len(self.design.models)
        bits = empty(n_models)
        for row, tiles in groupby(run.tiles() if self.replicates else (), key=itemgetter(0)):
            strip = np.zeros((len(self.design.models[run.strip(row)]), n_models), dtype=np.bool_)
            for _, col in tiles:
                strip[:, run.strip(col)] = edges_of(row, col)
            bits[run.strip(row)] = packed(strip)
        return PackedGraph(bits)

    def rank_intervals(self) -> tuple[tuple[int, int], ...]:
        """Rank interval of every model, from everything certified so far and the paths in it."""
        return self.graph().rank_intervals


def _already(before: TiledProgress, digest: str, replicate: int | None) -> TiledLook | None:
    """The look of a replicate that was added already, or nothing; what cannot be the next replicate is refused."""
    done = len(before.looks)
    if replicate is not None and not 1 <= replicate <= done + 1:
        raise DataError(f"replicate {replicate} cannot be added now; after {done} the next is {done + 1}")
    if replicate is not None and replicate <= done:
        if before.looks[replicate - 1].panel != digest:
            raise DataError(
                f"replicate {replicate} was added with another panel; its certificates stand, so it cannot change"
            )
        return before.looks[replicate - 1]
    if before.begun not in (None, digest):
        raise DataError(f"replicate {done + 1} was begun with another panel; finish it with that panel first")
    if before.begun is None and replicate is None and done and before.looks[-1].panel == digest:
        raise DataError(
            f"this is the panel of replicate {done} again; if it is another run with the same scores, "
            f"pass replicate={done + 1}"
        )
    return None


class PackedGraph(Ranks):
    """A certified graph over models 0 to L - 1, a bit per direction; concludes what :class:`bbedge.Graph` does.

    **Guarantee:** on the event that no edge is false, which has probability at least ``1 - alpha``, the rank
    intervals are true.

    >>> PackedGraph.of(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).rank_intervals
    ((1, 1), (2, 2), (3, 3))
    """

    def __init__(self, bits: Bits) -> None:
        self.bits = bits
        """The edges: row ``a`` holds a bit for every ``b`` that a is above, lowest bit first."""

    @classmethod
    def of(cls, edges: Mask) -> PackedGraph:
        """Pack a models x models matrix of edges, row above column."""
        return cls(packed(edges))

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.bits)

    def unpacked_edges(self) -> Mask:
        """The edges as a models x models matrix; eight times the memory."""
        return unpacked(self.bits, self.n_models)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.bitwise_count(self.bits).sum(dtype=np.int64))

    @cached_property
    def reach(self) -> Bits:
        """The transitive closure, packed: a path of edges leads from row to column."""
        return close(self.bits.copy())

    @property
    def has_contradictions(self) -> bool:
        """Whether some models are above each other: proof that an edge is false or an assumption broken."""
        models = np.arange(self.n_models, dtype=np.uint64)
        return bool(((self.reach[models, models >> 6] >> (models & 63)) & 1).any())

    @property
    def n_better(self) -> Ints:
        """For each model, the number of models that are certified better than it."""
        return self._counts[0]

    @property
    def n_worse(self) -> Ints:
        """For each model, the number of models that are certified worse than it."""
        return self._counts[1]

    @cached_property
    def _counts(self) -> tuple[Ints, Ints]:
        """Better and worse models, from the strict order some rows at a time: a reaches b and b does not reach a."""
        counts = np.zeros((2, self.n_models), dtype=np.int64)
        for start in range(0, self.n_models, _ROWS):
            rows = slice(start, min(start + _ROWS, self.n_models))
            words = np.ascontiguousarray(self.reach[:, start // 64 : -(-rows.stop // 64)])
            above = unpacked(self.reach[rows], self.n_models) & ~unpacked(words, rows.stop - start).T
            counts[0] += above.sum(axis=0)
            counts[1, rows] = above.sum(axis=1)
        return counts[0], counts[1]
