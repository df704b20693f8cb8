"""Cases for each row of native/op/value_classes.json: its class where no rule names it, and where one denies it."""

import json
from pathlib import Path

ROWS = Path(__file__).resolve().parents[3] / "native/op/value_classes.json"
LISTS, MAPS = ("list", "own-list"), ("map", "own-map")
# By the class, where the form that its converter takes does not say it; otherwise a text. The class that a Class stands
# for needs a rule.
VALUES = {"java.lang.Boolean": True, "java.lang.Float": 1.5, "java.lang.Double": 1.5, "java.lang.Number": 5,
          "java.lang.Byte": 5, "java.lang.Short": 5, "java.lang.Integer": 5, "java.lang.Long": 5,
          "java.lang.Class": "java.util.Objects", "java.lang.Cloneable": [1, 2], "java.util.RandomAccess": [1, 2]}
TEXTS = {"java.lang.Class": "class java.util.Objects"}  # of an object, where that is not the text that it is made of


def value_of(row):
    if row["make"] in LISTS:
        return [1, 2]
    if row["make"] in MAPS:
        return {"a": 1}
    return VALUES.get(row["name"], row.get("example", "x"))


def text_of(row, value):
    """What Object.toString gives. The one key of a WeakHashMap may be gone."""
    if row["name"] == "java.util.WeakHashMap":
        return "$begins:{"
    known = {list: "[1, 2]", dict: "{a=1}", bool: "true"}
    return TEXTS.get(row["name"], known.get(type(value), str(value)))


def call(row, value):
    return {"call": "java.util.Objects.toString", "args": [{"type": row["name"], "value": value}]}


def made_step(row):
    value = value_of(row)
    if "since" in row:  # a JDK that has it not says so
        raw = {"type": "java.util.Objects", "method": "toString", "args": [{"type": row["name"], "value": value}]}
        return {"request": {"jsonrpc": "2.0", "id": 1, "method": "call", "params": raw}, "lacks": "denied"}
    return {**call(row, value), "gives": {"type": "java.lang.String", "value": text_of(row, value)}}


def denied_step(row):
    return {**call(row, value_of(row)), "fails": [-32001, f"$begins:RPC access denied: {row['name']}.class via"]}


def cases():
    rows = [row for row in json.loads(ROWS.read_text(encoding="utf-8")) if "make" in row]
    for row in rows:
        yield {"name": f"{row['name']} is made without a rule for it", "steps": [made_step(row)],
               "options": ["--rpc-allow", "java.util.Objects,java.math.BigInteger"]}
        yield {"name": f"{row['name']} is denied by a rule that matches it", "steps": [denied_step(row)],
               "options": ["--rpc-policy", "HERE/policy/value_classes.yaml"]}
