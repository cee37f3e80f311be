-- Whose model calls must go: of every conversation that was deleted, or of which a message was.
ALTER TABLE deletions ADD COLUMN conversations text[] NOT NULL DEFAULT '{}';  -- sha256 of the ids
