"""The two notations of array classes: `int[]` in source code, `[I` in Class.getName."""

PRIMITIVES = {
    "boolean": "Z", "byte": "B", "char": "C", "double": "D", "float": "F", "int": "I", "long": "J", "short": "S",
}  # fmt: skip


def runtime_name(name: str) -> str:
    """Converts `int[]` to `[I`, as Class.getName returns the name. Other names are unchanged."""
    depth = 0
    while name.endswith("[]"):
        name = name[:-2].rstrip()
        depth += 1
    if depth == 0:
        return name
    return "[" * depth + (PRIMITIVES.get(name) or (name if name.startswith("[") else f"L{name};"))


def source_name(name: str) -> str:
    """Converts `[I` to `int[]`. Other names are unchanged."""
    depth = len(name) - len(name.lstrip("["))
    if depth == 0:
        return name
    element = name[depth:]
    for primitive, letter in PRIMITIVES.items():
        if element == letter:
            return primitive + "[]" * depth
    return element[1:-1] + "[]" * depth
