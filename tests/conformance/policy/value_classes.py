"""Makes two cases for each row of native/op/value_classes.json that has `make`: in one no rule matches the row's class,
in the other a rule denies it."""

import json
from pathlib import Path

from support import jdks

ROWS = Path(__file__).resolve().parents[3] / "native/op/value_classes.json"
ALLOWED = ["--rpc-allow", "java.util.Objects,java.math.BigInteger"]
LISTS, MAPS = ("list", "own-list"), ("map", "own-map")
# By the class, if its converter does not determine the form of a value; other classes are made from a text. The class
# that a Class object represents needs a rule.
VALUES = {"java.lang.Boolean": True, "java.lang.Float": 1.5, "java.lang.Double": 1.5, "java.lang.Number": 5,
          "java.lang.Byte": 5, "java.lang.Short": 5, "java.lang.Integer": 5, "java.lang.Long": 5,
          "java.lang.Class": "java.util.Objects", "java.lang.Cloneable": [1, 2], "java.util.RandomAccess": [1, 2]}
TEXTS = {"java.lang.Class": "class java.util.Objects"}  # of an object, if that differs from the text that it is made from


def value_of(row):
    if row["make"] in LISTS:
        return [1, 2]
    if row["make"] in MAPS:
        return {"a": 1}
    return VALUES.get(row["name"], row.get("example", "x"))


def text_of(row, value):
    """The result of Object.toString. The only key of a WeakHashMap may be gone."""
    if row["name"] == "java.util.WeakHashMap":
        return "$begins:{"
    known = {list: "[1, 2]", dict: "{a=1}", bool: "true"}
    return TEXTS.get(row["name"], known.get(type(value), str(value)))


def call(row, value):
    return {"call": "java.util.Objects.toString", "args": [{"type": row["name"], "value": value}]}


def made_step(row):
    value = value_of(row)
    return {**call(row, value), "gives": {"type": "java.lang.String", "value": text_of(row, value)}}


def denied_step(row):
    return {**call(row, value_of(row)), "fails": [-32001, f"$begins:RPC access denied: {row['name']}.class via"]}


def missing_step(row):
    return {**call(row, value_of(row)), "fails": [-32601, row["name"], "java.lang.ClassNotFoundException"]}


def cases_since(row):
    """The cases of a class that only newer JDKs have, on each JDK of this machine."""
    for home in jdks.homes():
        version = jdks.feature_version(home)
        has_class = version >= row["since"]
        yield {"name": f"{row['name']} is {'made' if has_class else 'missing'} without a rule for it in JDK {version}",
               "options": ["--jvm", str(home), *ALLOWED], "steps": [made_step(row) if has_class else missing_step(row)]}


def cases():
    rows = [row for row in json.loads(ROWS.read_text(encoding="utf-8")) if "make" in row]
    for row in rows:
        if "since" in row:
            yield from cases_since(row)
        else:
            yield {"name": f"{row['name']} is made without a rule for it", "steps": [made_step(row)], "options": ALLOWED}
        yield {"name": f"{row['name']} is denied by a rule that matches it", "steps": [denied_step(row)],
               "options": ["--rpc-policy", "HERE/policy/value_classes.yaml"]}
