"""Replay: recorded results are served for identical calls, and nothing with an effect runs."""

from judging import World, attempt, case, check, equal, order, outcomes, reasons, run, scenario

TO_7, TO_8 = [["get_order", {"id": 7}]], [["get_order", {"id": 8}]]


@scenario
def replay_zero_calls(world: World) -> None:
    """20 cases, 3 times each, with calls of reading, writing and undeclared tools: none reaches a tool server"""
    project = world.project()
    recorded = [order(), {"tool": "send_mail", "arguments": {"to": "x", "text": "y"}, "result": "sent"}, {"tool": "reindex", "arguments": {"id": 1}, "result": "ok"}, {"tool": "ticket", "arguments": {"id": 3}, "result": "open"}]
    calls = [[["get_order", {"id": 7}], ["send_mail", {"to": "x", "text": "y"}]], [["reindex", {"id": 1}]], [["ticket", {"id": 3}]]]
    project.dataset("many", [case(f"c{number}", calls=calls, recorded=recorded, scorers=[{"contains": "sent"}], say="$results") for number in range(20)])
    result = run(project, "many", "--repeat", "3")
    equal(set(outcomes(result).values()), {"passed"}, f"outcomes ({reasons(result, 'c0')[:100]})")
    equal(sum(len(item["attempts"]) for item in result["cases"]), 60, "attempts")
    equal(dict(world.fakes.counts), {}, "calls at the tool servers")


@scenario
def replay_changed_arguments(world: World) -> None:
    """another model calls with other arguments: the case diverged, and the report shows both calls"""
    project = world.project()
    project.dataset("changed", [case("c", calls={"a": [TO_7], "b": [TO_8]}, recorded=[order()])])
    equal(outcomes(run(project, "changed")), {"c": "passed"}, "with the recorded arguments")
    result = run(project, "changed", "--model", "b", codes=(1,))
    equal(outcomes(result), {"c": "diverged"}, "with other arguments")
    why = reasons(result, "c")
    check("get_order" in why and "8" in why and "7" in why, f"the reason does not show the call and the recorded one: {why[:200]!r}")
    equal(result["totals"]["diverged"], 1, "totals.diverged")
    equal(dict(world.fakes.counts), {}, "calls at the tool servers")


@scenario
def missing_fail(world: World) -> None:
    """without a recording and with `missing: fail`, the default, the case ends at that call and costs no more"""
    project = world.project()
    project.dataset("d", [case("c", calls=[TO_8, TO_8, TO_8])])
    result = run(project, "d", codes=(1,))
    equal(outcomes(result), {"c": "diverged"}, "outcome")
    equal(len(world.fakes.requests), 1, "model calls")


@scenario
def missing_stub(world: World) -> None:
    """with `missing: stub` the model gets a placeholder, the run goes on, and the report marks the call"""
    project = world.project()
    project.dataset("d", [case("c", calls=[TO_8], say="I could not look it up.", scorers=[{"contains": "could not"}])])
    result = run(project, "d", "--missing", "stub")
    equal(outcomes(result), {"c": "passed"}, "outcome")
    equal([call["served"] for call in attempt(result, "c")["tool_calls"]], ["stub"], "how the call was served")
    equal(dict(world.fakes.counts), {}, "calls at the tool servers")
    project.dataset("text", [case("c", calls=[TO_8], say="$results", scorers=[{"contains": "sold out"}], more={"missing": {"stub": "sold out"}})])
    equal(outcomes(run(project, "text")), {"c": "passed"}, "with a text of its own for the placeholder")


@scenario
def missing_live(world: World) -> None:
    """with `missing: live` a reading tool runs once; a recorded call is still served from the recording"""
    project = world.project()
    project.dataset("d", [case("c", calls=[TO_7, TO_8], recorded=[order()], say="$results", scorers=[{"contains": '"id":8'}])])
    result = run(project, "d", "--missing", "live")
    equal(outcomes(result), {"c": "passed"}, f"outcome ({reasons(result, 'c')[:120]})")
    equal([call["served"] for call in attempt(result, "c")["tool_calls"]], ["recorded", "live"], "how the calls were served")
    equal(world.fakes.received, [("get_order", {"id": 8, "note": ""})], "calls at the tool server")


@scenario
def live_never_writes(world: World) -> None:
    """with `missing: live` tools that write, or do not declare their effect, still do not run"""
    project = world.project()
    calls = {"mail": ["send_mail", {"to": "x", "text": "y"}], "index": ["reindex", {"id": 1}], "refund": ["refund", {"id": 7}]}
    project.dataset("d", [case(name, calls=[[call]]) for name, call in calls.items()])
    result = run(project, "d", "--missing", "live", codes=(1,))
    got = outcomes(result)
    equal((got.get("mail"), got.get("index")), ("diverged", "diverged"), "outcomes of a writing and an undeclared tool")
    check(got.get("refund") in ("failed", "diverged"), f"a call that needs an approval which was not recorded: {got.get('refund')}")
    equal(dict(world.fakes.counts), {}, "calls at the tool servers")


@scenario
def same_arguments(world: World) -> None:
    """identical means the same JSON: not the order of keys, nor 7 and 7.0; but not 7 and "7" """
    project = world.project()
    mail = {"tool": "send_mail", "arguments": {"to": "x", "text": "y"}, "result": "sent"}
    project.dataset("d", [
        case("keys", calls=[[["send_mail", {"text": "y", "to": "x"}]]], recorded=[mail]),
        case("number", calls=[[["get_order", {"id": 7.0}]]], recorded=[order()]),
        case("text", calls=[[["get_order", {"id": "7"}]]], recorded=[order()], say="$results", scorers=[{"contains": "120"}]),
    ])
    got = outcomes(run(project, "d"))
    equal((got.get("keys"), got.get("number")), ("passed", "passed"), "keys in another order, 7.0 for 7")
    check(got.get("text") != "passed", "the text \"7\" was taken for the number 7")


@scenario
def same_call_twice(world: World) -> None:
    """a call that was made twice with two results gets them in the recorded order; a third gets the last again"""
    project = world.project()
    twice = [order(result="first"), order(result="second")]
    project.dataset("d", [
        case("two", calls=[TO_7, TO_7], recorded=twice, say="$results", scorers=[{"equals": "first second"}]),
        case("three", calls=[TO_7, TO_7, TO_7], recorded=twice, say="$results", scorers=[{"equals": "first second second"}]),
    ])
    result = run(project, "d")
    equal(outcomes(result), {"two": "passed", "three": "passed"}, f"outcomes ({attempt(result, 'two').get('text')!r}, {attempt(result, 'three').get('text')!r})")


@scenario
def recorded_error(world: World) -> None:
    """a tool that failed in the recording fails again, with its code"""
    project = world.project()
    failed = {"tool": "get_order", "arguments": {"id": 7}, "error": "tool_failed", "result": "The shop is closed."}
    project.dataset("d", [case("c", calls=[TO_7], recorded=[failed], say="$results", scorers=[{"contains": "The shop is closed."}])])
    result = run(project, "d")
    equal(outcomes(result), {"c": "passed"}, "outcome")
    equal(attempt(result, "c")["tool_calls"][0].get("error"), "tool_failed", "error of the served call")


@scenario
def changed_schema(world: World) -> None:
    """a tool that the configuration no longer has: the case says so, instead of serving its old result"""
    project = world.project()
    project.dataset("d", [case("c", calls=[[["vanished", {"id": 7}]]], recorded=[{"tool": "vanished", "arguments": {"id": 7}, "result": "old"}], say="$results", scorers=[{"contains": "old"}])])
    result = run(project, "d", codes=(1,))
    check(outcomes(result).get("c") in ("diverged", "failed"), f"outcome: {outcomes(result)}")
    check("vanished" in reasons(result, "c"), "the reason does not name the tool")


@scenario
def nothing_is_stored(world: World) -> None:
    """an evaluation leaves no thread and no run in the server's database"""
    project = world.served()
    before = project.cli("runs", "list").out
    project.dataset("quiet", [case("c", calls=[TO_7], recorded=[order()])])
    run(project, "quiet", "--fresh")
    equal(project.cli("runs", "list").out, before, "`runs list`")
