"""The package `jsonschema` as a validator that shares no code with the server's own."""

from jsonschema import Draft202012Validator

from checks import Mismatch, holds


class Judge:
    """Checks the published schemas against JSON Schema, and calls and results against the published schemas."""

    def __init__(self, tools):
        self.takes = {tool["name"]: validator(tool["inputSchema"]) for tool in tools}
        # A preview returns text and has no output schema.
        self.gives = {tool["name"]: validator(tool["outputSchema"]) for tool in tools if "outputSchema" in tool}

    def hear(self, step, result):
        """Checks one call: its arguments are valid if the server accepted them. Its result must always be valid."""
        takes, gives = self.takes[step["call"]], self.gives.get(step["call"])
        if "refuses" in step:
            refuses(takes, step["arguments"])
        else:
            accepts(takes, step["arguments"])
        if gives and not result.get("isError"):
            accepts(gives, result["structuredContent"])
        if "withholds" in step:
            refuses(gives, step["withholds"])


def validator(schema):
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def accepts(schema, value):
    problems = [f"{error.json_path}: {error.message}" for error in schema.iter_errors(value)]
    if problems:
        raise Mismatch(f"{value!r} does not fit {schema.schema!r}: {problems}")


def refuses(schema, value):
    holds(not schema.is_valid(value), f"{value!r} fits {schema.schema!r}")
