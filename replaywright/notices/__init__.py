"""Delivery of notices: webhooks, chat and e-mail through Apprise, commands."""
