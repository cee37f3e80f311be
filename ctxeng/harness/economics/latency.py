"""Time to the first token, modelled from the length of the prompt. Not measured here.

Source: the figures the two source articles give: about 1,500 ms under 3,000 input tokens, about
2,400 ms above 6,000, and 4,000 ms at 80,000; straight lines in between, flat outside. A prompt
read from the cache is faster than this says.
"""

from __future__ import annotations

import numpy as np

POINTS = ((3_000, 1_500.0), (6_000, 2_400.0), (80_000, 4_000.0))


def ttft_ms(input_tokens: float) -> float:
    """Return the modelled time to the first token in milliseconds.

    Example:
        ``ttft_ms(4_500)`` → ``1950.0``
    """
    tokens, times = zip(*POINTS, strict=True)
    return float(np.interp(input_tokens, tokens, times))
