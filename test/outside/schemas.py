"""Schemas as docs/schemas.md defines them, and random ones for patterns.

Only the keywords that `random_schema` uses are known here. Data that fits its
schema at first fits it for ever, so a write is judged by all that it leaves.
"""

from values import ABSENT, Link, Refused, equal, is_number

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and float(value).is_integer(),
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def fits(schema, value):
    if isinstance(value, Link):
        return True
    types = schema.get("type", ())
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[name](value) for name in types):
        return False
    if "enum" in schema and not any(equal(value, item) for item in schema["enum"]):
        return False
    if is_number(value):
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, str):
        return schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    if isinstance(value, list):
        return (schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
                and all(fits(schema.get("items", {}), item) for item in value))
    if isinstance(value, dict):
        known = schema.get("properties", {})
        return (all(key in value for key in schema.get("required", ()))
                and all(fits(known.get(key, {}), item) for key, item in value.items())
                and (schema.get("additionalProperties", True) or all(key in known for key in value)))
    return True


def fill(schema, value):
    """The value with the defaults of the properties that it lacks."""
    if not isinstance(value, dict):
        return value
    filled = {key: fill(schema.get("properties", {}).get(key, {}), item) for key, item in value.items()}
    for key, inner in schema.get("properties", {}).items():
        if key not in filled and "default" in inner:
            filled[key] = inner["default"]
    return filled


def random_schema(random, name):
    """A schema for a state that the generator has made, by the first letter of its name."""
    number = {"type": random.choice(["number", "integer"]), "minimum": random.randrange(-4, 0),
              "maximum": random.randrange(5, 25)}
    items = {"type": "array", "maxItems": random.randrange(4, 9)}
    if random.randrange(2):
        items["items"] = {"type": random.sample(["integer", "string", "object", "array", "null", "boolean"], 4)}
    if random.randrange(3) == 0:
        items["minItems"] = 1
    text = {"type": "string", "maxLength": random.randrange(2, 6)}
    if name[0] == "o":
        return {"type": "object", "required": random.sample(["a", "b", "c"], random.randrange(3)),
                "additionalProperties": bool(random.randrange(2)),
                "properties": {"a": dict(number, default=1), "b": items,
                               "c": {"type": "object", "properties": {"d": number, "e": dict(text, default="x")}}}}
    return {"n": number, "l": items, "s": text}[name[0]]


def random_payload_schema(random):
    """A schema for the payloads of the generator: {"v": ..., "i": ..., "w": [...]}."""
    return {"type": "object", "required": ["v", "w"], "additionalProperties": False,
            "properties": {"v": {"type": random.sample(["integer", "string", "object", "array", "null", "boolean"], 5)},
                           "i": {"type": "integer", "minimum": random.randrange(-3, 1), "default": random.randrange(3)},
                           "w": {"type": "array", "maxItems": random.randrange(3, 8)}}}


def add_schemas(random, pattern):
    """Some states, and some streams, get one; how many."""
    count = 0
    for state in pattern["states"]:
        initial = state["initial"]
        schema = random_schema(random, state["name"]) if state["name"][0] in "nlso" else None
        if schema and random.randrange(4) and fits(schema, fill(schema, initial)):
            state["schema"] = schema
            count += 1
    for handler in pattern["handlers"]:
        if random.randrange(2):
            handler["schema"] = random_payload_schema(random)
            count += 1
    for child in pattern["children"]:
        count += add_schemas(random, child["pattern"])
    return count


def judged(schema, value, whole=True):
    """What a write leaves, with defaults if the `whole` was put; Refused if that does not fit."""
    if schema is None or value is ABSENT:
        return value
    value = fill(schema, value) if whole else value
    if not fits(schema, value):
        raise Refused("does not fit the schema")
    return value
