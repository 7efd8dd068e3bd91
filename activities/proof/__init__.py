"""Commit steps in doubt, in activities: ledger, black box, live page and site are asked, and the end is settled."""
