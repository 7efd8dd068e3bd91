"""Settings of a project that has nothing but Django's own admin; the same for every version of Django.

`DJANGO_SITE_DATABASE` names the database's file, `DJANGO_SITE_SKIN` the skin of the admin; empty: its own.
"""

import os
import secrets

from bench.django_site.skins import SKINS

SKIN = os.environ.get("DJANGO_SITE_SKIN", "")

SECRET_KEY = secrets.token_urlsafe()
DEBUG = True
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "bench.django_site.urls"
STATIC_URL = "/static/"
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["DJANGO_SITE_DATABASE"]}}
# Nobody is protected here, and the stock hasher takes a third of a second for every log-in.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
INSTALLED_APPS = [
    *SKINS.get(SKIN, ()),
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    *(["baton.autodiscover"] if SKIN == "baton" else []),
]
X_FRAME_OPTIONS = "SAMEORIGIN"  # some skins show their pages in frames
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
