"""What the rules find, one file a family: typed fields, and the words that are made of them."""
