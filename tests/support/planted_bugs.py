"""The backend of planted faults, without installing it: its package, and its smallest cases out of YAML."""

from pathlib import Path

import yaml

from conformance.catalogue import loading as catalogues

HOME = Path(__file__).parent / "planted_package"
"""Holds the package and what pip would leave beside it: on the path, it is as if it were installed."""


class Whole(yaml.SafeDumper):
    """Writes an array again wherever it stands: a catalogue takes no aliases."""

    def ignore_aliases(self, _data):
        return True


def written(folder, operator, cases):
    """Return cases of an operator by their ids, read from a file as a catalogue has it."""
    path = folder / f"{operator}.yaml"
    raw = {"operator": operator, "source": "a test", "cases": [{"id": name, **case} for name, case in cases.items()]}
    path.write_text(yaml.dump(raw, Dumper=Whole), "utf-8")
    return {case.id.partition("/")[2]: case for case in catalogues.load_catalogue([path]).cases}


def smallest(folder, faults):
    """Return for each fault, by its name, the smallest case that shows it and the neighbour that does not."""
    found = {}
    for operator in {fault.operators[0] for fault in faults.values()}:
        those = {name: fault for name, fault in faults.items() if fault.operators[0] == operator}
        shown = {f"{name}.shown": dict(fault.smallest) for name, fault in those.items()}
        hidden = {f"{name}.hidden": fault.neighbour for name, fault in those.items()}
        read = written(folder, operator, shown | hidden)
        found |= {name: (read[f"{name}.shown"], read[f"{name}.hidden"]) for name in those}
    return found
