"""Tests of the suite, in the folders of the packages that they test."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
"""The checkout."""
