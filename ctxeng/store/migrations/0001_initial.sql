-- Conversations, their messages, what compaction made of them, and the search index.

CREATE TABLE conversations (
    conversation_id text PRIMARY KEY,
    user_id text,
    project_id text,
    keep_raw boolean NOT NULL DEFAULT false,
    language text NOT NULL DEFAULT 'und',
    meta jsonb NOT NULL DEFAULT '{}',
    last_seq integer NOT NULL DEFAULT -1,
    stamp bigint NOT NULL DEFAULT 0,            -- grows with every write; readers key caches on it
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX conversations_user ON conversations (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE conversation_messages (
    conversation_id text NOT NULL REFERENCES conversations ON DELETE CASCADE,
    seq integer NOT NULL CHECK (seq >= 0),
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
    speaker text,
    content text NOT NULL,
    blocks jsonb NOT NULL DEFAULT '[]',
    message_id text,
    said_at timestamptz,
    meta jsonb NOT NULL DEFAULT '{}',
    tokens integer,
    revision integer NOT NULL DEFAULT 0,
    since_seq integer NOT NULL,                 -- this revision is seen from this as_of on
    redacted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (conversation_id, seq)
);

CREATE TABLE message_revisions (                -- what an edit replaced
    conversation_id text NOT NULL,
    seq integer NOT NULL,
    revision integer NOT NULL,
    content text NOT NULL,
    blocks jsonb NOT NULL,
    tokens integer,
    since_seq integer NOT NULL,
    PRIMARY KEY (conversation_id, seq, revision),
    FOREIGN KEY (conversation_id, seq) REFERENCES conversation_messages ON DELETE CASCADE
);

CREATE TABLE conversation_summaries (
    artifact_id text PRIMARY KEY,
    conversation_id text NOT NULL REFERENCES conversations ON DELETE CASCADE,
    version integer NOT NULL,
    from_seq integer NOT NULL,
    summarized_until_seq integer NOT NULL,
    read_from_seq integer NOT NULL,
    read_to_seq integer NOT NULL,
    parents jsonb NOT NULL,
    visible_from_seq bigint NOT NULL,
    superseded_from_seq bigint,
    status text NOT NULL,
    body text NOT NULL,
    tokens integer NOT NULL,
    model text NOT NULL,
    prompt_hash text NOT NULL,
    lossless boolean NOT NULL,
    meta jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (conversation_id, version)
);

CREATE TABLE summary_nodes (                    -- episodes (level 0) and summary trees
    artifact_id text PRIMARY KEY,
    conversation_id text NOT NULL REFERENCES conversations ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('episode', 'node')),
    level integer NOT NULL,
    version integer NOT NULL,
    from_seq integer NOT NULL,
    to_seq integer NOT NULL,
    read_from_seq integer NOT NULL,
    read_to_seq integer NOT NULL,
    parents jsonb NOT NULL,
    visible_from_seq bigint NOT NULL,
    superseded_from_seq bigint,
    status text NOT NULL,
    body text NOT NULL,
    tokens integer NOT NULL,
    model text NOT NULL,
    prompt_hash text NOT NULL,
    lossless boolean NOT NULL,
    meta jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (conversation_id, kind, level, from_seq, version)
);

CREATE TABLE memory_snapshots (
    artifact_id text PRIMARY KEY,
    conversation_id text NOT NULL REFERENCES conversations ON DELETE CASCADE,
    version integer NOT NULL,
    from_seq integer NOT NULL,
    to_seq integer NOT NULL,
    read_from_seq integer NOT NULL,
    read_to_seq integer NOT NULL,
    parents jsonb NOT NULL,
    visible_from_seq bigint NOT NULL,
    superseded_from_seq bigint,
    status text NOT NULL,
    body text NOT NULL,
    tokens integer NOT NULL,
    model text NOT NULL,
    prompt_hash text NOT NULL,
    lossless boolean NOT NULL,
    meta jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (conversation_id, version)
);

CREATE TABLE user_memories (                    -- the items of every snapshot
    conversation_id text NOT NULL,
    version integer NOT NULL,
    item_id text NOT NULL,
    place integer NOT NULL,
    user_id text,
    project_id text,
    scope text NOT NULL,
    kind text NOT NULL,
    body text NOT NULL,
    status text NOT NULL,
    speaker text,
    confidence_share double precision NOT NULL,
    superseded_by text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, version, item_id),
    FOREIGN KEY (conversation_id, version)
        REFERENCES memory_snapshots (conversation_id, version) ON DELETE CASCADE
);
CREATE INDEX user_memories_user ON user_memories (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE memory_sources (
    conversation_id text NOT NULL,
    version integer NOT NULL,
    item_id text NOT NULL,
    seq integer NOT NULL,
    PRIMARY KEY (conversation_id, version, item_id, seq),
    FOREIGN KEY (conversation_id, version, item_id) REFERENCES user_memories ON DELETE CASCADE
);

CREATE TABLE message_terms (                    -- one row per indexed message: its length in terms
    conversation_id text NOT NULL,
    seq integer NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (conversation_id, seq),
    FOREIGN KEY (conversation_id, seq) REFERENCES conversation_messages ON DELETE CASCADE
);

CREATE TABLE message_postings (
    conversation_id text NOT NULL,
    term text NOT NULL,
    seq integer NOT NULL,
    frequency integer NOT NULL,
    PRIMARY KEY (conversation_id, term, seq),
    FOREIGN KEY (conversation_id, seq) REFERENCES message_terms ON DELETE CASCADE
);
CREATE INDEX message_postings_seq ON message_postings (conversation_id, seq);

CREATE TABLE settings (name text PRIMARY KEY, value text NOT NULL);
