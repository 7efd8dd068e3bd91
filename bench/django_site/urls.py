"""The admin, where Django's own tutorial has it, and what its skin wants beside it."""
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from django.contrib import admin
from django.urls import include, path

from bench.django_site.settings import SKIN

site = admin.site
beside = []
match SKIN:
    case "baton":
        from baton.autodiscover import admin as baton

        site = baton.site
        beside = [path("baton/", include("baton.urls"))]
    case "grappelli":
        beside = [path("grappelli/", include("grappelli.urls"))]
    case "unfold":
        from django.contrib.auth.admin import GroupAdmin, UserAdmin
        from django.contrib.auth.models import Group, User
        from unfold.admin import ModelAdmin
        from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

        class _Users(UserAdmin, ModelAdmin):
            form = UserChangeForm
            add_form = UserCreationForm
            change_password_form = AdminPasswordChangeForm

        class _Groups(GroupAdmin, ModelAdmin):
            """The same groups."""

        for model, shown in ((User, _Users), (Group, _Groups)):
            site.unregister(model)
            site.register(model, shown)

urlpatterns = [*beside, path("admin/", site.urls)]
