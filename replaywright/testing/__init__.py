"""A fake for every port: what the real part promises, in memory, without a clock, a network or a browser.

The fakes pass the same contract tests as the real parts. They keep what they were asked, so that a test can look.
"""
