"""Prints one line per check, ends at the first mismatch, and limits every wait."""

import os
import threading
import traceback
from contextlib import contextmanager

# The time limit of one check, in seconds.
PATIENCE = 10


class Mismatch(Exception):
    """The difference between the expected and the actual result."""


@contextmanager
def check(what):
    def fail(reason):
        print(f"FAILED {what}\n{reason}", flush=True)
        os._exit(1)

    # A thread, because it also ends a client whose event loop is blocked.
    timer = threading.Timer(PATIENCE, fail, [f"not done after {PATIENCE} s"])
    timer.daemon = True
    timer.start()
    try:
        yield
    except Mismatch as mismatch:
        fail(mismatch)
    except BaseException:
        fail(traceback.format_exc())
    finally:
        timer.cancel()
    print(f"ok {what}", flush=True)


def equal(actual, expected):
    holds(actual == expected, f"expected {expected!r}\n     got {actual!r}")


def holds(condition, otherwise):
    if not condition:
        raise Mismatch(otherwise)
