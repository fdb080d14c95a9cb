"""total-ranker/misra-gries: a history of Misra-Gries summaries."""
