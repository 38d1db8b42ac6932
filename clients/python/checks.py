"""One line for each thing checked, the end at the first mismatch, and no wait without an end."""

import os
import threading
import traceback
from contextlib import contextmanager

# How long one check may take, in seconds.
PATIENCE = 10


class Mismatch(Exception):
    """What a check found instead of what it expected."""


@contextmanager
def check(what):
    def fail(reason):
        print(f"FAILED {what}\n{reason}", flush=True)
        os._exit(1)

    # A thread, because it also ends a client that no longer comes to its event loop.
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
