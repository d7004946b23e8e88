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


def load_cases(folder, operator, cases):
    """Return cases of an operator by name, loaded from a catalogue file in `folder`; cases: raw cases by name."""
    path = folder / f"{operator}.yaml"
    raw = {"operator": operator, "source": "a test", "cases": [{"id": name, **case} for name, case in cases.items()]}
    path.write_text(yaml.dump(raw, Dumper=NoAliasDumper), "utf-8")
    return {case.id.partition("/")[2]: case for case in loading.load_catalogue([path]).cases}


def smallest_cases(folder, bugs):
    """Return for each bug, by name, the smallest case that shows it and the neighbouring case that does not."""
    cases = {}
    for operator in {bug.operators[0] for bug in bugs.values()}:
        of_operator = {name: bug for name, bug in bugs.items() if bug.operators[0] == operator}
        shown = {f"{name}.shown": dict(bug.smallest) for name, bug in of_operator.items()}
        hidden = {f"{name}.hidden": bug.neighbour for name, bug in of_operator.items()}
        loaded = load_cases(folder, operator, shown | hidden)
        cases |= {name: (loaded[f"{name}.shown"], loaded[f"{name}.hidden"]) for name in of_operator}
    return cases
