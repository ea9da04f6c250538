"""Correct small programs, and faults made out of them."""
