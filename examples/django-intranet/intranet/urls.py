"""The pages: a front page with the open tickets, and Django's own sign-in."""

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from intranet.models import Ticket


@login_required
def front_page(request: HttpRequest) -> HttpResponse:
    if title := request.POST.get("title"):
        Ticket.objects.create(owner=request.user, title=title[:200])
        return redirect("/")
    tickets = Ticket.objects.filter(owner=request.user, is_open=True)
    return render(request, "front_page.html", {"tickets": tickets})


urlpatterns = [
    path("", front_page),
    path("sign-in", LoginView.as_view(template_name="sign_in.html")),
    path("sign-out", LogoutView.as_view(next_page="/")),
]
