"""Vector matchers: products of tiles of the window, with a certain margin, and the definition for what is left."""
