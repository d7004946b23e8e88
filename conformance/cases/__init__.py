"""Data model of a case: operators, inputs, parameters, violations, and the parser for case files."""
