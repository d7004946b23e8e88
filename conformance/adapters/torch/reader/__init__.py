"""Reader of PyTorch models. It runs without the suite, see conformance.adapters.api.model_reader.

PyTorch is imported after the archive of a file is checked, because the import takes seconds.
"""

from .archive import check_archive


def read_model(path, model):
    """Add the nodes of a program of torch.export. Its weights are loaded, its graph is not run."""
    check_archive(path, model)
    from .program import read_program  # noqa: PLC0415 - see above

    read_program(path, model)


def read_object(module, model):
    """Call a module with zeros, and record the calls."""
    from .program import read_module  # noqa: PLC0415

    read_module(module, model)
