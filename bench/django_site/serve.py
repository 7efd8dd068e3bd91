"""Bring the database up to date, fill it if it is empty, and serve: run by the Python of a Django environment.

    DJANGO_SITE_DATABASE=FILE DJANGO_SITE_PASSWORD=… python -m bench.django_site.serve PORT

Port 0 takes a free one. The address is printed when the site answers.
"""
# mypy: disable-error-code="import-not-found, import-untyped"

import os
import sys
from socketserver import ThreadingMixIn

import django

from bench.django_site.names import GROUPS, PEOPLE, SUPERUSER

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.django_site.settings"
django.setup()

from django.contrib.admin.models import CHANGE, LogEntry  # noqa: E402  models are there after the set-up
from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.contenttypes.models import ContentType  # noqa: E402
from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402


class _Server(ThreadingMixIn, WSGIServer):  # type: ignore[misc]  # the base class is of an environment that is not ours
    daemon_threads = True


def seed() -> None:
    """Fill an empty database with a superuser, people (with the same password), groups and a history."""
    password = os.environ["DJANGO_SITE_PASSWORD"]
    root = User.objects.create_superuser(SUPERUSER, "admin@example.com", password)
    groups = []
    for name, action in GROUPS.items():
        group = Group.objects.create(name=name)
        group.permissions.set(Permission.objects.filter(codename__startswith=f"{action}_"))
        groups.append(group)
    for number, person in enumerate(PEOPLE):
        first, last = person.split()
        name = f"{first}.{last}".lower()
        user = User.objects.create_user(
            name, f"{name}@example.com", password, first_name=first, last_name=last, is_staff=number % 3 == 0
        )
        user.groups.set([groups[number % len(groups)]])
        LogEntry.objects.create(
            user=root,
            content_type=ContentType.objects.get_for_model(User),
            object_id=str(user.pk),
            object_repr=name,
            action_flag=CHANGE,
            change_message='[{"changed": {"fields": ["email"]}}]',
        )


def main() -> None:
    """Serve until the process is ended."""
    call_command("migrate", verbosity=0, interactive=False)
    if not User.objects.exists():
        seed()
    server = _Server(("127.0.0.1", int(sys.argv[1])), WSGIRequestHandler)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    print(f"Django {django.get_version()} at http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
