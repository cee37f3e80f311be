"""Where a fact stood, and where a lost fact was lost. Pure functions over what a run stored."""
