"""Stands in for lm-evaluation-harness where it is not installed: the same modules, options and files, no datasets.

The tasks ``words`` and ``gsm8k`` have twelve documents in four topics, the second with two filters. A model ``m70``
answers rightly with probability 0.70, decided by the model, the document and the seed that its request carries.
"""
