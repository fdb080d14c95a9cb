"""Compiled loops of the text readers: where records end, and values as JSON spells them."""
