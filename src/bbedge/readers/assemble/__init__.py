"""Where tables and logs meet: rows of any source become complete panels, or a refusal that says what to do.

``joining`` reads all sources, ``shaping`` makes tables long and knows what describes the items, ``coding`` turns names
into small integers, ``grid`` puts replicates, models and items in order and keeps on disk what memory does not hold,
``pivot`` fills the panels. ``duplicates``, ``pairing`` and ``missing_refusal`` refuse: two scores in a cell, runs with
nothing to compare, missing scores. ``missing_scores`` says where scores are missing and what a policy makes of them.

Messages name a file and a line; scores are looked at for their range alone, never for a decision. Memory is bounded: a
new step works on a chunk of rows or on one panel at a time.
"""
