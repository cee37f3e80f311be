"""Scoring: literal rules first, three-valued; a judge where wording is ambiguous."""
