"""The application for a server: `uvicorn intranet.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intranet.settings")
django_application = get_asgi_application()

from intranet.assistant import copilot  # noqa: E402 - after Django is set up

application = copilot.wrap(django_application, path="/ai")
