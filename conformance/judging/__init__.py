"""Expected results, verdicts, tolerances, conventions and the ledger."""
