"""What bbedge costs, target by target: ``python -m benchmarks``."""
