"""The lines of the log."""

import json
import logging

from rightseat.telemetry.logs import JsonFormatter, PlainFormatter


def test_an_error_message_is_printed_on_one_line_whatever_it_contains() -> None:
    record = logging.LogRecord("rightseat.x", logging.INFO, "", 1, "run %s", ("a\nERROR forged\r\n",), None)

    assert PlainFormatter("%(levelname)s %(message)s").format(record) == "INFO run a\\nERROR forged\\r\\n"


def test_the_text_of_an_error_cannot_forge_a_line() -> None:
    try:
        raise ValueError("no\n2026-01-01 INFO rightseat.audit: forged\r2026-01-01 forged")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "failed", (), (ValueError, error, error.__traceback__))

    lines = PlainFormatter("%(levelname)s %(message)s").format(record).split("\n")

    assert lines[0] == "ERROR failed"
    assert lines[-1].endswith("rightseat.audit: forged\\r2026-01-01 forged")
    assert all(line.startswith("    ") for line in lines[1:])


def test_no_control_character_reaches_a_terminal() -> None:
    controls = "\x1b]0;x\x07 \x9b2J \x85 \u2028 \u202e \x7f \x00 \b"
    record = logging.LogRecord("x", logging.INFO, "", 1, "said %s", (controls,), None)

    plain, in_json = PlainFormatter("%(message)s").format(record), JsonFormatter().format(record)

    assert plain == "said \\x1b]0;x\\x07 \\x9b2J \\x85 \\u2028 \\u202e \\x7f \\x00 \\x08"
    assert not {"\x1b", "\x07", "\x9b", "\x85", "\u2028", "\u202e", "\x7f", "\x00", "\b"} & set(in_json)
    assert json.loads(in_json)["message"] == f"said {controls}"
