"""The default of key-counter: the newest times of each key."""
