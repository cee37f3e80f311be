"""Ground floor: value types, errors, shared rules and protocols. Imports nothing of ours."""
