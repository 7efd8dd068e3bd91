"""The admin, where Django's own tutorial has it."""

from django.contrib import admin  # type: ignore[import-not-found]  # in the site's environment, never in ours
from django.urls import path  # type: ignore[import-not-found]  # likewise

urlpatterns = [path("admin/", admin.site.urls)]
