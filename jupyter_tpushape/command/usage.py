"""The error for arguments that do not work."""


class UsageError(Exception):
    """The arguments do not work; the message says what to use instead."""
