"""Runs evaluations replicate by replicate until the question is answered."""
