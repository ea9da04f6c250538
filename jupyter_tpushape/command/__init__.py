"""The commands behind ``tpushape``; ``cli.py`` reads what was typed and calls them."""
