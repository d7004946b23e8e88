"""Features of cases: facts that ledger selectors match, and phrases that may explain a failure."""
