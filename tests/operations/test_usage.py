"""What an operator without rights sees of what other users used."""

import inspect

import pytest

from rightseat.access.scopes import read_rights
from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.limits.kinds import REQUESTS
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter import METER, RunMeter
from rightseat.limits.meter_context import Metering
from rightseat.limits.metered_model import CallCounter, meter_model
from rightseat.limits.prices import Prices
from rightseat.limits.rules import Limit, LimitRule, Limits
from rightseat.limits.store import UsageQuery
from rightseat.limits.windows import CalendarWindow
from rightseat.operations.rights import ALL_RIGHTS, Operator, OperatorRights
from rightseat.operations.usage import UsageReports
from rightseat.stores.limits import MemoryLimits
from rightseat.testing import ScriptedModel, says

EVERYONE = ["alice", "eve"]
BY_USER = UsageQuery(("user",))


@pytest.fixture
async def reports() -> UsageReports:
    """Alice and eve have asked once each."""
    limits = Limits([Limit("few", "user", [LimitRule(REQUESTS, 9, CalendarWindow("day"))])])
    metering = Metering(limits, Ledger(MemoryLimits()), Prices())
    model = meter_model(ScriptedModel([says("Hi")]), CallCounter())
    for name in EVERYONE:
        meter = RunMeter(metering, Ask(messages=(user("Hi"),), principal=Principal(name)))
        await meter.admit(model)
        token = METER.set(meter)
        async for _ in model.stream(Prompt((user("Hi"),))):
            pass
        METER.reset(token)
        meter.release()
        await meter.flush()
    return UsageReports(metering)


async def list_users(reports: UsageReports, operator: Operator, query: UsageQuery = BY_USER) -> list[list[str]]:
    rows, counters = await reports.sum(operator, query), await reports.list_counters(operator)
    return [sorted(str(row.group[0]) for row in rows), sorted(str(one["subject"]) for one in counters)]


@pytest.mark.parametrize("query", [BY_USER, UsageQuery(("user",), user="alice")])
async def test_without_rights_an_operator_sees_its_own_user_only(reports: UsageReports, query: UsageQuery) -> None:
    eve = Operator(Principal("eve"), OperatorRights(watch=("default",), read=None, act=None, author=None))

    assert await list_users(reports, eve, query) == [["eve"], ["eve"]]


@pytest.mark.parametrize("rights", [ALL_RIGHTS, OperatorRights(watch=None), OperatorRights(usage=True)])
async def test_the_right_shows_all_users_or_the_one_that_is_asked_for(
    reports: UsageReports, rights: OperatorRights
) -> None:
    root = Operator(Principal("root"), rights)

    assert await list_users(reports, root) == [EVERYONE, EVERYONE]
    assert await list_users(reports, root, UsageQuery(("user",), user="eve")) == [["eve"], EVERYONE]


def test_every_method_is_called_by_an_operator() -> None:
    methods = inspect.getmembers(UsageReports, inspect.isfunction)
    first = {name: [*inspect.signature(method).parameters][1] for name, method in methods if name[0] != "_"}

    assert first == {"sum": "operator", "list_counters": "operator"}


@pytest.mark.parametrize("scopes", [["*"], ["usage:one"], ["*:*"], ["operator.read:*"], ["operator.watch:one"]])
def test_no_other_scope_includes_the_right(scopes: list[str]) -> None:
    assert not read_rights(scopes).includes_usage


@pytest.mark.parametrize("scopes", [["usage:*"], ["usage"], ["operator.watch:*"], ["operator.*:*"]])
def test_the_scopes_that_include_the_right(scopes: list[str]) -> None:
    assert read_rights(scopes).includes_usage
