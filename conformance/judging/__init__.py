"""Expected results, verdicts, error bounds, conventions and the ledger."""
