"""Experiment files: what to run, sweep and compare."""
