"""How well each search ranks the evidence of a probe: recall at k and reciprocal rank."""
