# expect.py: what these tests check with. Each ends the test with a message.
import os
import sys
import time

PORTS = [int(port) for port in os.environ["QUIPU_PORTS"].split()]


def fail(why):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")


def expect(got, wanted, what):
    if got != wanted:
        fail(f"{what} gave {got!r}, not {wanted!r}")


def expect_within(got, lowest, highest, what):
    if got is None or not lowest <= got <= highest:
        fail(f"{what} gave {got!r}, which is not from {lowest} to {highest}")


# Polls until `call` returns what is wanted, and returns when that was.
def expect_soon(call, wanted, what):
    deadline = time.monotonic() + 10
    while (got := call()) != wanted:
        if time.monotonic() > deadline:
            fail(f"{what} still gave {got!r} after 10 s, not {wanted!r}")
        time.sleep(0.01)
    return time.monotonic()


# The deadline of a counter counts from the request that set it, which `began` precedes. The
# wall clock, which decides, may run a little faster than the one that measures here.
def expect_lifetime(began, ended, seconds):
    if ended - began < seconds - 0.05:
        fail(f"a counter of {seconds} s ended after {ended - began:.3f} s")
