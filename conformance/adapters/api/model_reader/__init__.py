"""Readers of models: how a backend lists the layers of a model file, or of a model that a Python function returns.

An adapter may have a module `model` with the name MODEL_READER. The adapter of another package defines MODEL_READER
itself. The suite's process reads no model. It starts `extraction.py` with the interpreter of the backend, which needs
the packages of the reader and nothing of the suite, and this process runs the reader's script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

EXTRACTION_FILE = Path(__file__).with_name("extraction.py")
FACTORY_FILE = Path(__file__).with_name("factory_loading.py")
"""Imports the function that returns a model: in the process of a reader, and in a worker that runs a model."""


@dataclass(frozen=True)
class ModelReader:
    """A reader of models.

    script: a Python file with a function `read_model(source, model)`, or the `__init__.py` of a package whose modules
        import each other by relative imports. `source` is the path, and `model` is the Model of extraction.py, to
        which the function adds layers. A function `read_object(value, model)` reads models that Python functions
        return.
    surface: the surface whose answers to conventions apply to the model.
    suffixes: endings of the files that it reads, such as ".onnx".
    packages: the packages that the script needs.
    folder_file: the file that makes a folder a model of this format; "" if the reader reads no folders.
    reads_references: whether it reads models that a Python function returns, named MODULE:FACTORY or FILE.py:FACTORY.
    returns: classes of these models, as the name of the top-level package and that of the class: "package.Class". If
        the user names no reader, the class of the model decides which one reads it.
    variables: environment variables of the process.
    backends: backends of other names than the reader whose models it reads, with the environment variables of each.
    is_run: whether users run the models on the surface, so that its known deviations are those of the model.
    advice: what to do about an error, by a text that its message contains.
    """

    script: Path
    surface: str
    suffixes: tuple[str, ...]
    packages: tuple[str, ...]
    folder_file: str = ""
    reads_references: bool = False
    returns: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    is_run: bool = True
    backends: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    advice: Mapping[str, str] = field(default_factory=dict)
