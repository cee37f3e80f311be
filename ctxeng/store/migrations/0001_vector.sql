-- Only where the server has pgvector.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE message_embeddings (
    conversation_id text NOT NULL,
    seq integer NOT NULL,
    chunk integer NOT NULL,
    embedding vector NOT NULL,
    PRIMARY KEY (conversation_id, seq, chunk),
    FOREIGN KEY (conversation_id, seq) REFERENCES conversation_messages ON DELETE CASCADE
);
