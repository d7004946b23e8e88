"""A folder of small wheels that pip installs without a network: releases of `fakenet`, and this NumPy."""

import zipfile
from pathlib import Path

import numpy as np

RAISES = "def answer(x):\n    raise ValueError('not in this release')\n"
WRONG_SHAPE = "def answer(x):\n    return x[:, :, :1]\n"
OLD_NUMPY_ONLY = """\
import sys
from pathlib import Path
if not list(Path(__file__).parent.glob("numpy-1.*")):
    sys.exit("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0")
"""
# The wheel of NumPy loads the package of this interpreter, so that nothing is copied.
NUMPY = f"""\
import sys
del sys.modules["numpy"]
sys.path.insert(0, {str(Path(np.__file__).parents[1])!r})
import numpy
sys.path.pop(0)
"""


def write_wheel(folder, module, version, source, distribution=""):
    """Write a wheel with one module."""
    name = (distribution or module).replace("-", "_")
    info = f"{name}-{version}.dist-info"
    files = {
        f"{module}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return path


def write_packages(folder, releases, distribution="fakenet"):
    """Write wheels of `fakenet`, source text by version, and of two versions of NumPy."""
    folder.mkdir(exist_ok=True)
    for version, source in releases.items():
        write_wheel(folder, "fakenet", version, source, distribution)
    for version in ("1.26.4", "2.0.0"):
        write_wheel(folder, "numpy", version, NUMPY)


def use_packages(monkeypatch, folder):
    """Let pip find the wheels of a folder, and nothing else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
