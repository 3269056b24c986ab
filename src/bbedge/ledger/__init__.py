"""One append-only hash chain in one store: events, heads, score vectors, import and export.

``chain`` has the events in order and the bytes of scores, ``store`` the transactions, ``tables`` the SQL and its rows,
``location`` where a store is, ``archive`` a ledger as a text file. Boards and gates are two folds over it; what may
enter is decided there, by their ``admit``.
"""
