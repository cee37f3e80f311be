"""Thin commands: parse, call, print, exit code."""
