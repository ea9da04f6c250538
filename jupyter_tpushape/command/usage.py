"""What a command says when it cannot do what was typed."""


class UsageError(Exception):
    """What was typed cannot be done; the message says what to type."""
