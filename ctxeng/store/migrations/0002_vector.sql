-- Only where the server has pgvector.
CREATE EXTENSION IF NOT EXISTS vector;
DROP TABLE IF EXISTS message_embeddings;
CREATE TABLE message_embeddings (
    conversation_id text NOT NULL,
    seq integer NOT NULL,
    since_seq integer NOT NULL,
    chunk integer NOT NULL,
    embedding vector NOT NULL,
    PRIMARY KEY (conversation_id, seq, since_seq, chunk),
    FOREIGN KEY (conversation_id, seq, since_seq) REFERENCES message_terms ON DELETE CASCADE
);
