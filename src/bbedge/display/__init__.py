"""Certificates and other records as something to look at. What is shown is what the JSON says.

`ranking` has the leaderboard row by row and `answer` the first sentences; `scope` says what is measured and promised.
Every display takes its words from these three: `terminal`, `compact` (notebook, Markdown, LaTeX, badge) and `page`.
`geometry` says where things are drawn: scales, ticks, rank bars, layers of graphs. `figures` and `plotting` draw them
with matplotlib. `tables` makes tables of texts for terminals and Markdown. `gate`, `plan`, `study`
and `reports` show what commands find.

To show something else on the page, change a template in `page`: it reads the certificate and calls functions of
`scope`, `page/facts`, `page/charts` and `page/drawing`. Displays see certificates, reports and findings, never a board,
a leaderboard or a ledger, and compute no statistics.
"""
