"""How the groups of any query are answered: processors, and the small groups held together."""
