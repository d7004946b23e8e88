"""The vocabulary of the conditions of findings, and the test of conditions on further cases."""
