"""Real leaderboards, certified: from published files to a table, from the table to certificate and page."""
