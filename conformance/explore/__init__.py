"""Exploring: cases that nobody wrote, drawn from the whole space of every operator, judged, shrunk and grouped.

space -> recipes -> cases -> lab (programs, outcomes, verdicts) -> shrink -> findings; explorer goes round.
"""
