"""The request path: from a stored conversation and a question to a prompt. Calls no model."""

from ctxeng.context.builder import ContextBuilder

__all__ = ["ContextBuilder"]
