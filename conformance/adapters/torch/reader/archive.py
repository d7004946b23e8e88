"""Whether a file is an archive of torch.export. PyTorch is not imported."""

import json
import os
import zipfile
import zlib

MAX_FILE_BYTES = 16 << 30
PICKLES = (b"\x80", b"(dp", b"(lp", b"cposix")
"""The first bytes of a pickle: that of its protocol, or the first operations of protocol 0."""
ZIP_START = b"PK\x03\x04"
OLD_PROGRAM = "serialized_exported_program.json"
"""The program in an archive that PyTorch before 2.8 has written."""
WRITE = "write it with torch.export.save, or name the function that returns the module: FILE.py:FACTORY"


def check_archive(path, model):
    """Raise an error if a file has no program of torch.export that can be read."""
    reason = reason_of_file(path) or reason_of_archive(path, model)
    if reason:
        raise model.error(f"not a program of torch.export: {reason}")


def reason_of_file(path):
    """Return why a file is no archive, "" for an archive."""
    with open(path, "rb") as file:
        start = file.read(8)
    if not start:
        return "it is empty"
    if zipfile.is_zipfile(path):
        return ""
    if start.startswith(PICKLES):
        return f"it is a pickle, which may run code; {WRITE}"
    return "its zip archive is truncated" if start.startswith(ZIP_START) else "it is no zip archive"


def reason_of_archive(path, model):
    """Return why an archive has no program, "" if it has one."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = archive.infolist()
            size = max(os.path.getsize(path), sum(one.file_size for one in found))
            if size > MAX_FILE_BYTES:
                raise model.error(f"it has {size} bytes, the limit is {MAX_FILE_BYTES}")
            names = [one.filename for one in found if is_program(one.filename)]
            return reason_of_program(archive, names[0]) if names else reason_of_other([one.filename for one in found])
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        return f"its zip archive is damaged: {error}"


def is_program(name):
    """Whether a file of an archive is the graph: `models/NAME.json` in the folder of the archive."""
    parts = name.split("/")
    return parts[-1] == OLD_PROGRAM or (parts[-2:-1] == ["models"] and name.endswith(".json"))


def reason_of_program(archive, name):
    """Return why the graph of an archive cannot be read, "" if it can."""
    content = archive.read(name)
    if not content:
        return f"{name} in its archive is empty"
    try:
        json.loads(content)
    except ValueError as error:
        return f"{name} in its archive is damaged: {error}"
    return ""


def reason_of_other(names):
    """Return what an archive without a program has."""
    if any(name.endswith("/data.pkl") for name in names):
        kind = "of TorchScript" if any("/code/" in name for name in names) else "of torch.save"
        return f"it is an archive {kind}; {WRITE}"
    return f"its archive has {'no program' if names else 'no files'}"
