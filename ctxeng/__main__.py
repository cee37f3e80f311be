"""``python -m ctxeng``: the same as the ``ctxeng`` command."""

from ctxeng.cli.main import run

if __name__ == "__main__":
    run()
