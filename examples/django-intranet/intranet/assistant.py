"""The copilot of the intranet and its tools. They are not async, so Django's ORM runs in a thread."""

import os

from rightseat import Copilot, Principal, RightseatError
from rightseat.django import session_user

copilot = Copilot(
    os.environ.get("MODEL", "demo"),
    instructions="You help people with their tickets. Be brief.",
    faces=["copilotkit", "console"],
    authenticate=session_user,
    state_dir=os.environ.get("INTRANET_STATE", ".rightseat"),
)


@copilot.tool
def open_tickets(caller: Principal) -> list[str]:
    """The open tickets of the person who asks, with their numbers."""
    from intranet.models import Ticket  # Django's models can be imported once it is set up

    return [str(ticket) for ticket in Ticket.objects.filter(owner_id=int(caller.id), is_open=True)]


@copilot.tool(approval="Close this ticket?", effect="write")
def close_ticket(ticket_id: int, caller: Principal) -> str:
    """Close a ticket of the person who asks."""
    from intranet.models import Ticket

    if not Ticket.objects.filter(pk=ticket_id, owner_id=int(caller.id)).update(is_open=False):
        raise RightseatError(f"You have no ticket {ticket_id}.")
    return f"Ticket {ticket_id} is closed."
