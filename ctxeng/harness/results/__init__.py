"""What a run leaves behind: immutable Parquet tables, a manifest, and DuckDB views over them."""
