"""Stands in for lm-evaluation-harness where it is not installed: the same modules, options and files, no datasets.

The task ``words`` has twelve documents in four topics; ``broken`` cannot be loaded. A model ``m70`` answers rightly
with probability 0.70, decided by the model, the document and the seed that its request carries.
"""
