"""`conformance explore`: generated cases, oracles, shrinking and findings."""
