"""The lines of the log."""

import logging

from rightseat.telemetry.logs import PlainFormatter


def test_an_error_message_is_printed_on_one_line_whatever_it_contains() -> None:
    record = logging.LogRecord("rightseat.x", logging.INFO, "", 1, "run %s", ("a\nERROR forged\r\n",), None)

    assert PlainFormatter("%(levelname)s %(message)s").format(record) == "INFO run a\\nERROR forged\\r\\n"
