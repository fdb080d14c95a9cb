"""Compiled loops of the readers of text: where records end, and values as JSON spells them."""
