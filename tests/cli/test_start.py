"""The lines of the log."""

import logging

from rightseat.telemetry.logs import OneLine


def test_a_message_is_one_line_whatever_is_in_it() -> None:
    record = logging.LogRecord("rightseat.x", logging.INFO, "", 1, "run %s", ("a\nERROR forged\r\n",), None)

    assert OneLine("%(levelname)s %(message)s").format(record) == "INFO run a\\nERROR forged\\r\\n"
