"""What every set matcher must do: driver, oracle, streams and checks, for the conformance runs of skyband-specs.

Nothing else of this distribution imports it, so skyband-specs is needed only where a matcher is verified.
"""
