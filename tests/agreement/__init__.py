"""Programs by the thousand: what a real step does against what a report says.

Run by ``make agree``; a slice of it is part of the tests.
"""
