"""Translate a case, or a layer of a framework, into a program."""
