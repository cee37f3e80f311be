"""Evaluation only: nothing below this floor imports it."""
