"""Readers of the logs of evaluation tools. They parse files; no tool is imported."""
