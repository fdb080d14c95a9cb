"""Distinct counts over any sliding window: the sketches of Zhang et al. (2010) and faster successors."""
