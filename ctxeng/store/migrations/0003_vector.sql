-- Only where the server has pgvector.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE memory_embeddings (                -- of items that other conversations may use
    conversation_id text NOT NULL,
    version integer NOT NULL,
    item_id text NOT NULL,
    embedding vector NOT NULL,
    PRIMARY KEY (conversation_id, version, item_id),
    FOREIGN KEY (conversation_id, version, item_id) REFERENCES user_memories ON DELETE CASCADE
);
