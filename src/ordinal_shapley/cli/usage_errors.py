"""What was wrong with the options, and what would do, in one line."""

from __future__ import annotations

from typing import Any

# What is expected by the kind of a fault; limits are in its context.
_EXPECTED = {
    "int_parsing": "a whole number such as 1000",
    "int_parsing_size": "a smaller whole number",
    "float_parsing": "a number",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}


def usage_line(error: Any) -> str:
    """Return the line for a usage error of the click that typer uses."""
    parameter, message = getattr(error, "param", None), getattr(error, "message", "")
    if parameter is None or not message:  # nothing that was given: a thing missing, unknown or too many
        text = error.format_message()
        hinted = "Did you mean" in text or "Possible options" in text
        path = "--help" if error.ctx is None else f"{error.ctx.command_path} --help"
        return text if hinted else f"{text.rstrip('.')}; `{path}` says what there is"
    name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.make_metavar(error.ctx)
    fault = _fault(error)
    if fault.get("type") in _EXPECTED:
        limits = fault.get("ctx", {})
        given = fault["input"] if limits else repr(fault["input"])  # within limits it is a number
        return f"{name} is {given}, expected {_EXPECTED[fault['type']].format(**limits)}"
    return f"{name} {message}" if message.startswith("is ") else f"{name}: {message}"


def _fault(error: Any) -> dict[str, Any]:
    """What typer's validation says; nothing where it is an older one, whose message has it all."""
    faults: Any = getattr(error.__cause__, "errors", None)
    return dict(faults()[0]) if callable(faults) else {}
