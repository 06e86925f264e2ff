"""The scenarios: Workspace asks for what the example plugins can do, and their demo APIs are really called.

The model behind is the fake OpenAI of the suite openbb. It fills the schema that it is given, by keywords of the question.
"""

import json
import re
from typing import Any

import dashboard as board
from scenarios import Case, answered, check, equal, said, shorten
from upstream import Reply, Request, call, say
from workspace import Turn, Workspace

from tests.acceptance._lib.scenarios import Scenarios

SCENARIOS = Scenarios()
APIS: dict[str, Any] = {}
CANARIES: list[str] = []

FLOWS = {
    "weather.forecast": r"weather|forecast",
    "sales_insight.chart_sales": r"chart|revenue",
    "host_security.scan_host": r"\bscan",
    "file_convert.convert_document": r"convert",
    "file_convert.inspect_document": r"what is in",
}
SQL = ("SELECT c.region AS region, SUM(o.amount) AS revenue FROM orders o JOIN customers c ON c.id = o.customer_id "
       "WHERE o.ordered_on LIKE '2025-%' GROUP BY c.region ORDER BY revenue DESC")
WEATHER, SALES, SCAN = "What will the weather be in Hangzhou, for 3 days?", "Chart the revenue of 2025 by region", "Scan the host db-01"
CONVERT = "Convert this CSV file to Markdown"


scenario = SCENARIOS.add


# ---- the model -------------------------------------------------------------------------------------------------------

def brain(request: Request) -> Reply:
    schema = ((request.body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    return say(json.dumps(filled(schema, request.prompt), ensure_ascii=False)) if schema else say(worded(request))


def filled(schema: dict, prompt: str) -> dict:
    properties = schema.get("properties", {})
    question = prompt.rpartition("uestion:")[2].strip() or prompt
    if "flow" in properties:
        names = properties["flow"]["enum"]
        return {"flow": next((name for name, words in FLOWS.items() if name in names and re.search(words, question, re.I)), "none")}
    if "sql" in properties:
        return {"sql": SQL, "explanation": "Revenue by region."}
    if {"x", "y"} <= properties.keys():
        return {"type": "bar", "x": "region", "y": ["revenue"], "title": "Revenue by region", "stack": False}
    known = {
        "city": found(r"\bin ([A-Z]\w+)", question), "days": number(found(r"(\d+) days", question)),
        "host_id": found(r"\b([a-z]+-\d{2})\b", question), "depth": found(r"\b(full|quick)\b", question),
        "target": "md" if "Markdown" in question else None, "files": labels(properties.get("files")), "file": (labels(properties.get("file")) or [None])[0],
    }
    return {name: known.get(name) for name in properties}


def found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match[1] if match else None


def number(text: str | None) -> int | None:
    return None if text is None else int(text)


def labels(schema: Any) -> list[str] | None:
    listed = re.search(r'"enum": (\[[^\]]+\])', json.dumps(schema))
    return [one for one in json.loads(listed[1]) if one] if listed else None


def worded(request: Request) -> str:
    """What it says shows what it was sent."""
    for proof, text in (("rain_chance", "Take an umbrella."), ("task_id", "The scan has begun."), ("did not allow", "All right, nothing was scanned."),
                        ("weights.md", "Here is the converted file."), ("revenue", "One region leads.")):
        if request.has(proof):
            return text
    return "I can answer that by myself."


# ---- the client ------------------------------------------------------------------------------------------------------

def space_of(case: Case, **more) -> Workspace:
    case.model(brain)
    return case.workspace(agent=more.pop("agent", "flows"), **more)


def asks(turn: Turn, *words: str) -> None:
    for word in (*words, "To answer, reply"):
        check(word in turn.text, f"{word!r} in the question, got {shorten(turn.text)}")
    equal(turn.calls, [], "function calls")


def sent(plugin: str, method: str, since: int = 0) -> list[str]:
    return [line for line in APIS[plugin].seen[since:] if line.startswith(method)]


def scans() -> int:
    return len(sent("host_security", "POST /api/scans"))


def statuses(turn: Turn) -> list[str]:
    return [one["message"] for one in turn.statuses]


def no_secret(case: Case, *turns: Turn) -> None:
    """Keys of the plugins reach neither the browser nor the model nor the log."""
    places = {"the answer": "\n".join(turn.raw for turn in turns), "a prompt": "\n".join(request.raw for request in case.requests)}
    if case.log:
        places["the server's log"] = case.log.read_text(errors="replace")
    for canary in CANARIES:
        for place, text in places.items():
            check(canary not in text, f"no {canary} in {place}")


# ---- weather -----------------------------------------------------------------------------------------------------------

@scenario("weather")
def weather(case: Case) -> None:
    """A question is answered from the API's data; the user sees what is sent, and nobody the key."""
    before = len(APIS["weather"].seen)
    turn = space_of(case).ask(case.q(WEATHER))
    answered(turn, "Take an umbrella.")
    (line,) = [one for one in turn.statuses if one["message"] == "GET /forecast"]
    equal(line["details"], [{"city": "Hangzhou", "days": 3}], "what is said to be sent")
    equal(len(sent("weather", "GET /v1/forecast", before)), 1, "requests to the API")
    no_secret(case, turn)


@scenario("weather-of-an-old-client")
def weather_legacy(case: Case) -> None:
    """A client of 2024 gets the same in text alone."""
    answered(space_of(case, legacy=True).ask(case.q(WEATHER)), "Take an umbrella.")


@scenario("missing-value")
def missing_value(case: Case) -> None:
    """What the question does not say is asked for in the chat, and the next message is the value."""
    space = space_of(case)
    asks(space.ask(case.q("What will the weather be?")), "city")
    answered(space.ask("Hangzhou"), "Take an umbrella.")
    equal(sent("weather", "GET")[-1].partition("&")[0].partition("?")[2].split("&")[0], "city=Hangzhou", "the API's city")


@scenario("missing-value-cancelled")
def missing_cancelled(case: Case) -> None:
    """Who does not want to say it cancels, and nothing is sent."""
    space, before = space_of(case), len(APIS["weather"].seen)
    asks(space.ask(case.q("What will the weather be?")), "city")
    said(space.ask("cancel"))
    equal(APIS["weather"].seen[before:], [], "requests to the API")


# ---- sales -------------------------------------------------------------------------------------------------------------

@scenario("sales-chart")
def sales(case: Case) -> None:
    """Rows of a database come as a table, the chart as a chart, each an artifact that Workspace can keep."""
    turn = space_of(case).ask(case.q(SALES))
    equal([one["type"] for one in turn.artifacts], ["table", "chart"], "artifacts")
    table, chart = turn.artifacts
    equal(sorted(table["content"][0]), ["region", "revenue"], "columns of the table")
    equal(chart["chart_params"], {"chartType": "bar", "xKey": "region", "yKey": ["revenue"]}, "the chart")
    equal(len(chart["content"]), 4, "bars")
    check(turn.text.strip().endswith("One region leads."), f"a sentence after the chart, got {shorten(turn.text)}")
    check("SELECT" not in turn.raw, "no statement in the answer")


@scenario("sales-twice")
def sales_twice(case: Case) -> None:
    """A second chart in one chat has a name of its own, and the first comes back as context without harm."""
    space = space_of(case)
    space.ask(case.q(SALES))
    equal(len(space.ask(case.q(f"{SALES} again")).artifacts), 2, "artifacts of the second answer")


@scenario("sales-of-an-old-client")
def sales_legacy(case: Case) -> None:
    """A client of 2024 reads the rows in the text."""
    turn = space_of(case, legacy=True).ask(case.q(SALES))
    check("revenue" in turn.text and "One region leads." in turn.text, f"rows and a sentence, got {shorten(turn.text)}")


# ---- host security -------------------------------------------------------------------------------------------------------

@scenario("scan-allowed")
def scan_allowed(case: Case) -> None:
    """What is dangerous is asked for with all that would be sent; allowed, it is sent once."""
    space, before = space_of(case), scans()
    first = space.ask(case.q(SCAN))
    asks(first, "POST http://127.0.0.1:", "/api/scans", "host_id: db-01 (question)", "depth: quick (default)", "**allow**", "**deny**")
    equal(scans() - before, 0, "scans before it is allowed")
    second = space.ask("allow")
    answered(second, "The scan has begun.")
    equal(scans() - before, 1, "scans")
    third = space.ask("allow")
    said(third)
    equal(scans() - before, 1, "scans after another `allow`")
    no_secret(case, first, second, third)


@scenario("scan-refused")
def scan_refused(case: Case) -> None:
    """Refused, nothing is sent, and the flow says so."""
    space, before = space_of(case), scans()
    asks(space.ask(case.q(SCAN)), "/api/scans")
    answered(space.ask("Deny."), "All right, nothing was scanned.")
    equal(scans() - before, 0, "scans")


@scenario("scan-edited")
def scan_edited(case: Case) -> None:
    """What would be sent can be changed; a change that cannot be used is told, and the question stays open."""
    space, before = space_of(case), scans()
    asks(space.ask(case.q(SCAN)), "depth: quick")
    asks(space.ask("edit\ndepth: shallow"), "depth cannot be used")
    asks(space.ask("edit\nspeed: 9"), "speed")
    equal(scans() - before, 0, "scans")
    turn = space.ask("edit\ndepth: full")
    answered(turn, "The scan has begun.")
    equal(scans() - before, 1, "scans")
    check(any('"eta_seconds":90' in request.raw.replace("\\", "").replace(" ", "") for request in case.requests), "the reply of a full scan")


@scenario("scan-left")
def scan_left(case: Case) -> None:
    """Another question is answered as such; the old one is not open any more, and a late `allow` does nothing."""
    space, before = space_of(case), scans()
    asks(space.ask(case.q(SCAN)), "/api/scans")
    answered(space.ask(case.q(WEATHER)), "Take an umbrella.")
    said(space.ask(case.q("allow")))
    equal(scans() - before, 0, "scans")


@scenario("scan-of-another")
def scan_of_another(case: Case) -> None:
    """A chat's question is answered in that chat alone: one that has copied it is told that it is not open."""
    space, other, before = space_of(case), space_of(case), scans()
    asks(space.ask(case.q(SCAN)), "/api/scans")
    other.history = [dict(one) for one in space.history]
    turn = other.ask("allow")
    check("not open" in turn.text, f"a word about the question, got {shorten(turn.text)}")
    equal(scans() - before, 0, "scans")


@scenario("scan-as-a-tool")
def scan_as_a_tool(case: Case) -> None:
    """A model that calls the flow as a tool: the question is asked in the same way, and its answer goes to the tool."""
    def decide(request: Request) -> Reply:
        if request.body.get("response_format"):
            return brain(request)
        if request.results:
            return say("Done: " + ("scanned." if "scan" in request.results[-1] and "task" in request.results[-1] else "nothing."))
        if tool := request.tool("scan_host"):
            return call((tool["name"], {"question": case.q(SCAN)}))
        return brain(request)

    space, before = space_of(case, agent="loop"), scans()
    case.model(decide)
    asks(space.ask(case.q(SCAN)), "host_id: db-01")
    answered(space.ask("yes"), "Done: scanned.")
    equal(scans() - before, 1, "scans")
    space, before = space_of(case, agent="loop"), scans()
    case.model(decide)
    asks(space.ask(case.q(SCAN)), "host_id: db-01")
    answered(space.ask("no"), "Done: nothing.")
    equal(scans() - before, 0, "scans after a no")


# ---- files -------------------------------------------------------------------------------------------------------------

@scenario("file-converted")
def file_converted(case: Case) -> None:
    """An attached file is fetched from Workspace, sent to the API as it is, and the new one can be downloaded."""
    turn = space_of(case, primary=[board.weights()]).ask(case.q(CONVERT))
    equal([one["input_arguments"]["data_sources"][0]["id"] for one in turn.calls], ["weights_file"], "function calls")
    check(turn.text.startswith("Here is the converted file."), f"a sentence, got {shorten(turn.text)}")
    address = found(r"\[weights\\?\.md\]\((http[^)]+)\)", turn.text)
    check(address, f"a link to weights.md, got {shorten(turn.text)}")
    file = case.send("GET", address)
    equal(file.status_code, 200, "the download")
    equal(file.text.splitlines()[0], "| symbol | weight |", "the first line of the file")
    check('filename="weights.md"' in file.headers["content-disposition"], "the file's name")
    no_secret(case, turn)


@scenario("file-once")
def file_once(case: Case) -> None:
    """A file that the chat has brought is not fetched again for the next question."""
    space, before = space_of(case, primary=[board.weights()]), len(APIS["file_convert"].seen)
    equal(len(space.ask(case.q(CONVERT)).calls), 1, "function calls of the first question")
    turn = space.ask(case.q("What is in this file?"))
    equal(turn.calls, [], "function calls of the second")
    equal(len(sent("file_convert", "POST /inspect", before)), 1, "requests to the API")
    said(turn)


@scenario("file-missing")
def file_missing(case: Case) -> None:
    """Without a file nothing is sent: the flow says what it needs."""
    before = len(APIS["file_convert"].seen)
    turn = space_of(case).ask(case.q(CONVERT))
    said(turn)
    check("files" in turn.text, f"what is missing, got {shorten(turn.text)}")
    equal(sent("file_convert", "POST /convert", before), [], "requests to the API")


@scenario("file-unreadable")
def file_unreadable(case: Case) -> None:
    """A file that Workspace cannot give is a warning, and the flow says what it needs."""
    widget = board.weights()
    widget.data = lambda args: {"error_type": "widget_error", "content": "The file is gone"}
    turn = space_of(case, primary=[widget]).ask(case.q(CONVERT))
    check([one for one in turn.statuses if one["eventType"] == "WARNING"], "a warning")
    said(turn)


# ---- no flow -------------------------------------------------------------------------------------------------------------

@scenario("no-flow")
def no_flow(case: Case) -> None:
    """Where no flow fits, the model answers by itself; widgets on the dashboard are no reason to fetch them."""
    turn = space_of(case, primary=[board.price()]).ask(case.q("Tell me a story."))
    answered(turn, "I can answer that by myself.")
    equal(turn.calls, [], "function calls")


@scenario("suggestions")
def suggestions(case: Case) -> None:
    """What could be asked next is offered where the user wants it."""
    turn = space_of(case, options={"prompt-suggestions": True}).ask(case.q(WEATHER))
    check(turn.suggestions and all(turn.suggestions[0]), f"suggestions, got {turn.names}")
    equal(turn.names[-1], "copilotPromptSuggestions", "the last event")
