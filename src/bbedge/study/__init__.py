"""Synthetic data whose truth is known, for experiments and for checks of the guarantee."""
