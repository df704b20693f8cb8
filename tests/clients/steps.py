"""The requests that the programs in Python send to a peer, and the form of their report.

A program gets the peer's address as its argument. It prints the name of each step whose result is the expected one, and
ends at the first step with another result.
"""

import sys
from pathlib import Path

ADDRESS = sys.argv[1]
CALL = {"type": "com.example.Calculator", "method": "add", "args": [5, 3]}
ADD = "com.example.Calculator.add"
DIVIDE = "com.example.Calculator.divide"
SET = "java.lang.System.setProperty"
GET = "java.lang.System.getProperty"
# the name of a system property, so that the effect of a notification can be checked
KEY = Path(sys.argv[0]).stem
SERVER_ERROR = -32000
THROWN = "java.lang.ArithmeticException"


def done(step, got, expected):
    if got != expected:
        sys.exit(f"{step}: {got!r} is not {expected!r}")
    print(step, flush=True)
