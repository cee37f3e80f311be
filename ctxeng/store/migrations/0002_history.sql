-- What was true as of a seq stays so after an edit: index entries and staleness know since when.
-- The index is made anew by the next indexing.

ALTER TABLE conversations
    ADD COLUMN edited_stamp bigint NOT NULL DEFAULT 0;  -- stamp of the last edit or redaction

ALTER TABLE conversation_summaries ADD COLUMN stale_from_seq bigint;
ALTER TABLE summary_nodes ADD COLUMN stale_from_seq bigint;
ALTER TABLE memory_snapshots ADD COLUMN stale_from_seq bigint;  -- NULL and status stale: always

-- json keeps the order of keys, which jsonb does not: a tool call reads as it was written
ALTER TABLE conversation_messages ALTER COLUMN blocks DROP DEFAULT, ALTER COLUMN meta DROP DEFAULT;
ALTER TABLE conversation_messages
    ALTER COLUMN blocks TYPE json USING blocks::json,
    ALTER COLUMN meta TYPE json USING meta::json;
ALTER TABLE message_revisions ALTER COLUMN blocks TYPE json USING blocks::json;

DROP TABLE message_postings, message_terms;

CREATE TABLE message_terms (                    -- one row per index entry: its length in terms
    conversation_id text NOT NULL,
    seq integer NOT NULL,
    since_seq integer NOT NULL,                 -- the entry is searched from this as_of on
    until_seq integer,                          -- and, once its words were edited, up to before this
    length integer NOT NULL,
    PRIMARY KEY (conversation_id, seq, since_seq),
    FOREIGN KEY (conversation_id, seq) REFERENCES conversation_messages ON DELETE CASCADE
);

CREATE TABLE message_postings (
    conversation_id text NOT NULL,
    term text NOT NULL,
    seq integer NOT NULL,
    since_seq integer NOT NULL,
    frequency integer NOT NULL,
    PRIMARY KEY (conversation_id, term, seq, since_seq),
    FOREIGN KEY (conversation_id, seq, since_seq) REFERENCES message_terms ON DELETE CASCADE
);
CREATE INDEX message_postings_seq ON message_postings (conversation_id, seq, since_seq);
