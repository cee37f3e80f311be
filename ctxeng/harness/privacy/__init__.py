"""Find personal data and secrets in recorded sessions, and put pseudonyms in their place."""
