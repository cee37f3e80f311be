"""Statistics over probes that are not independent: the session is the unit."""
