"""A persistent leaderboard: panels, models and items are added, the design stays, one budget pays for every claim."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Self, Unpack

from bbedge.board.admit import create, registration
from bbedge.board.change import Added, Change, created, load, looks_again, replay
from bbedge.board.design import BoardDesign, Columns, drawn_seed
from bbedge.board.state import BoardState
from bbedge.board.stored_scores import NextRun, StoredScores, items_with_scores, resolved_if_means
from bbedge.core.checkpoints import Checkpoint
from bbedge.core.leaderboard import Leaderboard, Look
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.ledger.archive import export_file
from bbedge.ledger.chain import LedgerEvent
from bbedge.ledger.heads import LedgerHead
from bbedge.ledger.store import Store
from bbedge.records.design import Counting
from bbedge.records.events import (
    AbandonReason,
    AnnouncementClosed,
    AttemptBegun,
    AttemptEnded,
    AttemptOutcome,
    Created,
    ItemsAdded,
    ModelAnnounced,
    ModelRetired,
    ModelWithdrawn,
    NoteAdded,
    ScoresAdded,
    TrustStated,
    WithoutEvidence,
)
from bbedge.records.notes import Note
from bbedge.records.values import Trust
from bbedge.text import counted


class Board:
    """A board on disk or in a database. Make one with :meth:`create`, open it again with :meth:`open`.

    In a ``with`` statement it is closed at the end. Two boards are equal only if they are the same object.

    **Guarantee:** with probability at least ``1 - alpha`` no certificate that the board ever issues is false, over all
    epochs, stages, directions and looks.

    **Needs:** the assumptions of ``docs/guarantees.md`` for every epoch, and models and items that are added for
    reasons other than the stored scores.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.read() as session:
            self._events, self._state = load(session)

    def __repr__(self) -> str:
        epoch = self._state.epoch
        counts = ((len(epoch.models), "model"), (len(epoch.items), "item"), (epoch.replicates, "replicate"))
        return f"Board({self.name}, epoch {epoch.number}: {', '.join(counted(*count) for count in counts)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str],
        design: BoardDesign,
        *,
        models: Sequence[str],
        items: Sequence[str],
        blocks: Sequence[str] | None = None,
        columns: Columns | None = None,
        order_seed: int | None = None,
    ) -> Board:
        """Freeze a design. A second call with the same design changes nothing; with another design it is refused.

        ``columns`` has what else is known of each item, by the name of its column; the design uses some of them, for
        instance categories and weights. If the design has checkpoints, ``order_seed`` is the seed of the order in which
        blocks are run. The board draws one unless it is given, and records it; a seed that is given must have been
        drawn at random once the items were known.
        """
        seed = drawn_seed() if order_seed is None and design.checkpoints else order_seed
        proposed = Created(
            design=design.content,
            registration="",
            models=tuple(models),
            items=tuple(items),
            blocks=tuple(items if blocks is None else blocks),
            columns=design.kept_columns(columns or {}),
            order_seed=seed,
        )
        create(proposed)
        store = Store(place, create=True)
        store.check_storable(models)
        with store.write() as session:
            there = Change.create(session, proposed, any_seed=order_seed is None)
            if there is not None:
                raise BoardError(
                    f"{store.name}: a board with another design (registration {there[:16]}) is "
                    "here already; a design cannot be changed after it was frozen. Make a new board elsewhere"
                )
        return cls(store)

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> Board:
        """Open a board that exists."""
        return cls(Store(place))

    def as_of(self, head: str) -> Board:
        """The board as it was when this hash was that of its last event, computed again; read it, do not add to it."""
        place = next((place for place, event in enumerate(self._events, start=1) if event.hash == head), None)
        if place is None:
            raise BoardError(f"{self.name}: no event has the hash {head[:64]}")
        past = copy(self)
        with self._store.read() as session:
            past._events = self._events[:place]
            past._state = replay(session, past._events)
        return past

    @property
    def name(self) -> str:
        """Where the board is, without a password."""
        return self._store.name

    @property
    def design(self) -> BoardDesign:
        """The frozen design."""
        return self._state.design

    @property
    def registration(self) -> str:
        """The hash of everything that was frozen when the board was made: design, models, items and blocks."""
        return registration(created(self._events[0]))

    @property
    def state(self) -> BoardState:
        """Everything that the board holds now; read it, do not change it."""
        return self._state

    @property
    def events(self) -> tuple[LedgerEvent, ...]:
        """The ledger."""
        return tuple(self._events)

    @property
    def head(self) -> str:
        """The hash of the last event, which covers the whole history."""
        return self._events[-1].hash

    def leaderboard(self, epoch: int | None = None) -> Leaderboard:
        """Everything that may be concluded about a benchmark version (from 1); by default the current one."""
        if epoch is not None and not 1 <= epoch <= len(self._state.epochs):
            raise BoardError(f"there is no epoch {epoch}; the board has epochs 1 to {len(self._state.epochs)}")
        chosen = self._state.epoch if epoch is None else self._state.epochs[epoch - 1]
        head = self.head

        def certificate(view: str | None = None) -> Any:  # noqa: ANN401 - bbedge.Certificate
            if self.head != head:
                raise BoardError(f"{self.name} has changed since this leaderboard was made; call leaderboard() again")
            made = self.certificate(chosen.number)
            return made if view is None else made.view(view)

        made = self._state.leaderboard(chosen)
        if made.gaps is not None:
            with self._store.read() as session:
                made = made.with_mean_items(items_with_scores(session, chosen))
        views = (replace(view, of_board=partial(certificate, view.name)) for view in made.views)
        return replace(made, of_board=certificate, views=tuple(views))

    def looks(self, epoch: int | None = None) -> Iterator[Look]:
        """Every look at the headline of a benchmark version again; see :meth:`looks_at_views`."""
        for headline, *_ in self.looks_at_views(epoch):
            if headline is not None:
                yield headline

    def looks_at_views(self, epoch: int | None = None) -> Iterator[tuple[Look | None, ...]]:
        """Every look at a benchmark version again, computed from the stored scores; by default the current version.

        There is one for each view, the headline's first, or ``None`` where a view is not looked at then. Only for a
        version that no model was added to, since directions of a later stage have another threshold, and of new items
        only for the first one.
        """
        number = epoch or self._state.epoch.number
        if self._state.epochs[number - 1].is_joined:
            return
        with self._store.read() as session:
            yield from looks_again(session, self._events, number)

    def resolved_if_means(self, epoch: int | None = None) -> int | None:
        """Pairs of a version that would be certified if missing scores had been their models' means.

        A hint at what missing scores cost, never a claim; ``None`` for a version that a model was added to.
        """
        chosen = self._state.epoch if epoch is None else self._state.epochs[epoch - 1]
        with self._store.read() as session:
            return resolved_if_means(session, chosen)

    def add(
        self,
        scores: Scores,
        *,
        upto: int | None = None,
        **counting: Unpack[Counting],
    ) -> Added:
        """Append complete replicates, in order, and look after each. All of them are kept, or none.

        A replicate that is on the board already, by its number or by the identities of its runs, changes nothing. One
        that repeats stored scores raises :class:`~bbedge.errors.CopiedReplicateError`, unless the design or ``copies``
        says that it counts; the ledger then states it.

        Where the design counts missing scores, they are NaN and final. A replicate without any score of an active
        model stays incomplete until its run is there, unless ``incomplete`` repeats the rule of the design: then the
        whole run counts as missing.

        With ``upto``, the number of blocks before the :attr:`next_checkpoint`, add the first run up to it. ``scores``
        is then one replicate with every active model and every one of the :attr:`next_items`, in any order. It may also
        have the items before, with the scores on the board, and models that were stopped; items after the checkpoint
        are refused. Models may then be retired, and are left out of what follows. After the last checkpoint, and at any
        earlier one, the complete replicate is added without ``upto``; it must have the scores that were given before.
        With ``incomplete="refuse"`` missing scores are refused: for files of a harness that may still be running. If it
        repeats the rule of the design, whole models and items may be missing. Scores that repeat those of a pilot
        replicate raise :class:`~bbedge.errors.CopiedReplicateError` as above.

        **Needs:** with ``upto``, every active model has run these items and all before, in this order.
        """
        with self._change() as change:
            return change.add(scores, counting, upto)

    @property
    def next_checkpoint(self) -> Checkpoint | None:
        """The checkpoint that the first run comes to next; ``None`` if the next look is after a complete run."""
        return self._state.epoch.next_checkpoint

    @property
    def next_items(self) -> tuple[str, ...]:
        """The items to run next in the first run, in their order: up to the next checkpoint, or all that are left.

        They follow from the seed that the board drew. Empty if the design has no checkpoints, during a pilot, and once
        the first run is complete: then replicates are complete ones.
        """
        return self._state.epoch.next_items

    @property
    def next_run(self) -> NextRun:
        """What the active models have to run next: :attr:`next_items`, or a complete replicate where there are none."""
        return NextRun.of(self._state)

    def add_model(self, name: str, scores: Scores | None = None, **counting: Unpack[Counting]) -> Added:
        """Join a new model's runs with the stored replicates under the pairing rule and test its directions.

        Before an epoch's first replicate there is nothing to join, and no scores are needed. Runs that repeat each
        other score by score, and missing scores, are treated as in :meth:`add`.
        """
        self._store.check_storable([name])
        with self._change() as change:
            return change.add_model(name, scores, counting)

    def add_items(
        self,
        items: Sequence[str],
        blocks: Sequence[str] | None = None,
        *,
        columns: Columns | None = None,
        order_seed: int | None = None,
    ) -> None:
        """Open an epoch: the benchmark grows, evidence restarts at one, earlier claims stay with their version.

        ``columns`` and ``order_seed`` are as in :meth:`create`: an epoch has an order of its own. A new category is a
        new view of this epoch; the design's rule gives it a share.
        """
        seed = drawn_seed() if order_seed is None and self.design.checkpoints else order_seed
        labels, kept = tuple(items if blocks is None else blocks), self.design.kept_columns(columns or {})
        with self._change() as change:
            epoch = change.state.epoch.number + 1
            change.append(ItemsAdded(epoch=epoch, items=tuple(items), blocks=labels, columns=kept, order_seed=seed))

    def retire(self, model: str) -> None:
        """Stop a model: later replicates leave it out, its directions keep their evidence."""
        self._append(ModelRetired, model=model)

    def withdraw(self, model: str, reason: str) -> None:
        """Hide the row of a model from the tables, for a reason that readers of the board see.

        Nothing is erased and no conclusion changes; the model runs until it is retired. There is no way back.
        """
        self._append(ModelWithdrawn, model=model, reason=reason)

    def announce(self, model: str, runs: int) -> None:
        """Announce the runs of a model that is to be added, before they are made; its claim is spent from now on.

        :meth:`add_model` takes all of them, or fewer after :meth:`close_announcement`, and draws their order.
        """
        self._store.check_storable([model])
        self._append(ModelAnnounced, model=model, runs=runs)

    def close_announcement(self, model: str) -> None:
        """Wait for no more announced runs of a model: what is not delivered counts as missing."""
        self._append(AnnouncementClosed, model=model)

    def state_trust(self, model: str, trust: Trust, *, by: str) -> None:
        """State how far the scores of a model can be trusted, and who says so; the last statement counts."""
        self._append(TrustStated, model=model, trust=trust, by=by)

    def add_submission(
        self, scores: Scores, *, by: str, sha256: str, trust: Trust, **counting: Unpack[Counting]
    ) -> Added:
        """Add a submission as :meth:`add_model` and :meth:`add` do, and state whose scores it has; all or nothing."""
        self._store.check_storable(scores.models)
        with self._change() as change:
            return change.add_submission(scores, counting, by=by, sha256=sha256, trust=trust)

    def note(self, about: str, text: str, **particulars: object) -> None:
        """Record something that readers of the board should know, with any JSON values; it changes nothing else."""
        self._append(NoteAdded, about=about, text=text, particulars=particulars)

    def begin_attempt(self, replicate: int, attempt: int, seed: int, protocol: str) -> None:
        """Record that a run is about to make its first request, before it does.

        ``replicate`` is the run, from 1 and with pilots included, and ``attempt`` the number of the try at it: 1, or
        the next one after an attempt that ended as abandoned. The seeds of its requests follow from ``seed``, and
        ``protocol`` is the SHA-256 of everything that determines what is asked.
        """
        self._append(AttemptBegun, replicate=replicate, attempt=attempt, seed=seed, protocol=protocol)

    def end_attempt(
        self, replicate: int, attempt: int, outcome: AttemptOutcome, *, reason: AbandonReason | None = None
    ) -> None:
        """Record what became of an attempt: ``abandoned``, or ``finished`` once its scores are on the board."""
        self._append(AttemptEnded, replicate=replicate, attempt=attempt, outcome=outcome, reason=reason)

    @property
    def noted(self) -> tuple[NoteAdded, ...]:
        """The notes, in order."""
        return tuple(event.content for event in self._events if isinstance(event.content, NoteAdded))

    @property
    def noticed(self) -> tuple[tuple[int, Note], ...]:
        """What readers noticed in the scores that were added, each once, with the epoch that it is about."""
        contents = (event.content for event in self._events)
        scored = (content for content in contents if isinstance(content, ScoresAdded))
        return tuple(dict.fromkeys((content.epoch, note) for content in scored for note in content.notes))

    def certificate(self, epoch: int | None = None) -> Any:  # noqa: ANN401 - bbedge.Certificate
        """The :class:`bbedge.Certificate` of a version (from 1), by default of the last one that has runs."""
        # By name: boards know nothing of documents.
        return import_module("bbedge.certificate.of_board").board_certificate(self, epoch)

    def verify(self, head: str | None = None, *, heads: Sequence[LedgerHead] = ()) -> Any:  # noqa: ANN401 - bbedge.verify.ledger.Verified
        """Compute every look again from the stored scores and compare it with every event of the board.

        The first thing that does not agree raises :class:`~bbedge.errors.BoardError`. ``head`` is a hash that was
        published earlier, or at least its first 16 digits: some event must have it. ``heads`` are those of a file that
        was published, from :func:`bbedge.ledger.heads.read_heads`.
        """
        # By name: a board knows nothing of what verifies it.
        return import_module("bbedge.verify.ledger").verify(self._store, head=head, heads=heads)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the whole board to one file, the archive that ``bbedge board import`` reads: all of it or nothing."""
        export_file(self._store, path)

    @property
    def store(self) -> Store:
        """Where the board is kept."""
        return self._store

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def _append(self, kind: type[ModelRetired | WithoutEvidence], **said: Any) -> None:  # noqa: ANN401 - the fields of the event
        with self._change() as change:
            change.append(kind(epoch=change.state.epoch.number, **said))

    @contextmanager
    def _change(self) -> Iterator[Change]:
        """One transaction, kept whole or not at all."""
        with self._store.write() as session:
            # Read again: another writer may have been here since the board was opened.
            events, state = load(session)
            yield Change(session=session, state=state, events=events, scores=StoredScores(session))
        self._events, self._state = events, state
