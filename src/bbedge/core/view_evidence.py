"""What the evidence of every target shares: who is compared, which panels are usable, and what stopped models keep."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bbedge.core.arrays import DAMAGE, DAMAGED, Array, Rows, Space, State, space_of, space_on, to_numpy
from bbedge.core.design import Design
from bbedge.core.panels import BlockLayout, check_panel
from bbedge.errors import DataError, DesignError
from bbedge.text import quoted

_VERSION = 1


class ViewEvidence(ABC):
    """The evidence of every direction of one view of a design.

    ``device`` is where arrays live: ``cpu`` (NumPy), or a device of PyTorch such as ``cuda``. Left out, the first panel
    decides. ``batch`` runs independent repetitions of the design together; panels and results have these leading axes.
    """

    def __init__(self, design: Design, *, device: str | None = None, batch: tuple[int, ...] = ()) -> None:
        if design.views:
            raise DesignError("this design has several views; use EvidenceSet, or one of the design's parts")
        self.design: Design = design
        self.layout: BlockLayout = design.layout
        """The blocks and their weights."""
        self.is_split = False
        """Whether every model has two rows: where scores are missing, as the better and as the worse model."""
        self.replicates = 0
        """Number of panels taken in."""
        self._batch = batch
        self._n_directions = design.n_directions / design.share
        self._active: Rows = np.arange(len(design.models))
        self._frozen: dict[str, NDArray[np.float64]] = {}
        self._decided = device is not None
        self._place(space_on(device or "cpu"))

    def _place(self, space: Space) -> None:
        """Begin in a space."""
        self.space: Space = space
        """Where the arrays live."""
        self.tested: Array = space.bools(self.design.tested)
        """Mask of the tested directions, row against column."""

    def place(self, space: Space) -> None:
        """Stay in a space from now on, before the first panel."""
        if not self._decided and space != self.space:
            self._place(space)
        self._decided = True

    @property
    def active(self) -> tuple[str, ...]:
        """The models that have not been stopped: the rows of the next panel."""
        return tuple(self.design.models[i] for i in self._active)

    def check(self, panel: object, places: Rows | None = None) -> tuple[Array, Array]:
        """The next panel there, or some items of it, and every model's mean of these; NaN where scores are missing."""
        if self._active.size == 0:
            raise DataError("every model has been stopped; there is nothing to update")
        if not self._decided:
            self.place(space_of(panel))
        return check_panel(
            panel,
            space=self.space,
            models=self.active,
            items=self.design.items if places is None else [self.design.items[i] for i in places],
            batch=self._batch,
            shares=self.layout.overall if places is None else None,
            gaps=self.design.gaps,
        )

    @property
    @abstractmethod
    def checkpoint(self) -> int:
        """The checkpoint of the first run that was last passed; 0 before the first, and after the complete run."""

    @property
    @abstractmethod
    def means(self) -> NDArray[np.float64]:
        """Mean of every model's scores over the replicates it took part in, without those missing; NaN before any."""

    @abstractmethod
    def split(self) -> None:
        """Give every model two rows from now on, if it does not have them; nothing changes but the form."""

    @abstractmethod
    def log_e(self) -> Array:
        """Natural logarithm of the evidence of every tested direction, row against column; NaN elsewhere."""

    @abstractmethod
    def lower_bounds(self) -> Array:
        """Simultaneous lower bounds of all tested differences, on the [0, 1] scale; NaN where nothing is tested.

        **Guarantee:** with probability at least ``1 - margin_alpha`` of the design all hold, at every look at once.
        """

    @abstractmethod
    def mean_bounds(self) -> NDArray[np.float64] | None:
        """Simultaneous bounds of every model's mean on the [0, 1] scale, models x 2; ``None`` if there are none."""

    @abstractmethod
    def stop(self, models: Sequence[str], *, forfeit: bool = False) -> None:
        """Freeze every direction that touches these models; later panels leave them out.

        With ``forfeit`` they keep no evidence: for models that stop inside a replicate that counts only if complete.
        """

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The whole state, to be resumed with the same design."""

    def tested_only(self, values: Array) -> Array:
        """The values, with NaN where nothing is tested."""
        return self.space.xp.where(self.tested, values, self.space.xp.nan)

    def _with_frozen(self, name: str, active: Array) -> Array:
        """The values of the active models among those that were frozen."""
        if not self._frozen:
            return active
        whole = self._frozen[name].copy()
        whole[..., self._active[:, None], self._active] = to_numpy(active)
        return self.space.asarray(whole)

    def _stopping(self, models: Sequence[str]) -> NDArray[np.bool_]:
        """Which models of the design are stopped now; an error if one of these is not active."""
        if self._batch:
            raise DesignError("repetitions that run together stop together; run them one by one to stop models")
        unknown = sorted(set(models) - set(self.active))
        if unknown:
            raise DesignError(f"model {quoted(unknown[0])} cannot be stopped: it is not an active model of this design")
        return np.isin(np.array(self.design.models, dtype=object), np.array(list(models), dtype=object))


def identity(design: Design) -> State:
    """The arrays that name the design in a state: its hash, and the order of models and items, which that ignores."""
    order = hashlib.sha256(json.dumps([design.models, design.items]).encode("ascii")).digest()
    return {
        "version": np.array([_VERSION]),
        "design": np.frombuffer(bytes.fromhex(design.hash), dtype=np.uint8),
        "order": np.frombuffer(order, dtype=np.uint8),
    }


def check_identity(design: Design, arrays: State) -> None:
    """Refuse a state of another version or design."""
    try:
        version, *saved = int(arrays["version"][0]), arrays["design"].tobytes(), arrays["order"].tobytes()
    except DAMAGE as error:
        raise DataError(DAMAGED) from error
    if version != _VERSION:
        raise DataError(f"the saved evidence has version {version}; this bbedge reads version {_VERSION}")
    own = identity(design)
    if saved != [own["design"].tobytes(), own["order"].tobytes()]:
        raise DesignError("the saved evidence belongs to another design; rebuild it from the panels")
