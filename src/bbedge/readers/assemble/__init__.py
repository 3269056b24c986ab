"""From rows to panels: names coded, replicates ordered, gaps found, everything complete or refused."""
