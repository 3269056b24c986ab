"""How a leaderboard is shown: as a document for programs and as a table for people."""
