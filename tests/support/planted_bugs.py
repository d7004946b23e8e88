"""The backend of planted bugs without installing it: its folder, and the smallest cases of its bugs."""

from pathlib import Path

import yaml

from conformance.catalogue import loading

PACKAGE_FOLDER = Path(__file__).parent / "planted_package"
"""Folder with the package and the metadata that pip would install. On the import path it counts as installed."""


class NoAliasDumper(yaml.SafeDumper):
    """Writes repeated arrays in full: catalogue files must not contain YAML aliases."""

    def ignore_aliases(self, _data):
        return True


def load_cases(folder, operator, cases, rejects=()):
    """Return cases of an operator by name, loaded from a catalogue file in `folder`.

    cases: raw cases by name; rejects: raw entries of cases that must be rejected.
    """
    path = folder / f"{operator}.yaml"
    raw = {"operator": operator, "source": "a test", "cases": [{"id": name, **case} for name, case in cases.items()]}
    raw |= {"rejects": list(rejects)} if rejects else {}
    path.write_text(yaml.dump(raw, Dumper=NoAliasDumper), "utf-8")
    return {case.id.partition("/")[2]: case for case in loading.load_catalogue([path]).cases}


def rejected_entry(name, bug):
    """Return the entry of the smallest case of a bug that accepts an invalid call."""
    changed = {key: value for key, value in bug.smallest.items() if value != bug.neighbour[key]}
    return {**bug.neighbour, "faults": [{"id": name, "rejected": bug.rejected, **changed}]}


def smallest_cases(folder, bugs):
    """Return for each bug, by name, the smallest case that shows it and the neighbouring case that does not."""
    cases = {}
    for operator in {bug.operators[0] for bug in bugs.values()}:
        of_operator = {name: bug for name, bug in bugs.items() if bug.operators[0] == operator}
        shown = {f"{name}.shown": dict(bug.smallest) for name, bug in of_operator.items() if not bug.rejected}
        hidden = {f"{name}.hidden": bug.neighbour for name, bug in of_operator.items()}
        rejects = [rejected_entry(f"{name}.shown", bug) for name, bug in of_operator.items() if bug.rejected]
        loaded = load_cases(folder, operator, shown | hidden, rejects)
        cases |= {name: (loaded[f"{name}.shown"], loaded[f"{name}.hidden"]) for name in of_operator}
    return cases
