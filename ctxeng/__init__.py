"""ctxeng: a Context Builder for long LLM chats, and the harness that measures what it loses.

Importing the package does no I/O; rooms are imported on demand, for example
``from ctxeng.context import ContextBuilder`` or ``from ctxeng.store import Store``.
"""

__version__ = "0.1.0"
