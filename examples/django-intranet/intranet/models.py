"""Tickets of people."""

from django.conf import settings
from django.db import models


class Ticket(models.Model):
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    title = models.CharField(max_length=200)
    is_open = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"{self.pk}: {self.title}"
