-- What the worker, the status report and the audit of deletions need.

-- when a message reached us, whatever its sender's clock says: memories of other conversations are
-- read as of that moment
ALTER TABLE conversation_messages ADD COLUMN stored_at timestamptz NOT NULL DEFAULT now();

CREATE TABLE context_builds (                   -- one row for each prompt that production built
    conversation_id text NOT NULL REFERENCES conversations ON DELETE CASCADE,
    as_of integer NOT NULL,
    skipped text[] NOT NULL,                    -- compactions that were late; empty: none
    built_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX context_builds_built_at ON context_builds (built_at);
CREATE INDEX context_builds_conversation ON context_builds (conversation_id);

CREATE TABLE deletions (                        -- what a deleted user's words would be known by
    deletion_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subject text NOT NULL,                      -- sha256 of the user's id
    deleted_at timestamptz NOT NULL DEFAULT now(),
    fingerprints bigint[] NOT NULL              -- hashes; the words are gone
);
