"""Whether the assumptions look right: tests with known false-alarm rates, and findings as data."""
