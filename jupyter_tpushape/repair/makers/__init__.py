"""Makers of candidate edits, by what they change."""
