"""Replay recorded sessions through the production builder, and ask the probes."""
