"""Run operators in the reference model of TOSA. Argument: a folder with `calls.json` and `arrays.npz`.

The Python that runs this script has tosa-tools. The result of call i is `i` in `results.npz`, with channels last.
See tests/support/tosa_calls.py for the format of a call.
"""

import json
import sys
from pathlib import Path

import numpy as np
from tosa_reference_model import GraphStatus, run
from tosa_serializer import (
    DType,
    NanPropagationMode,
    Op,
    ResizeMode,
    RoundingMode,
    TosaSerializer,
    TosaSerializerAttribute,
)

ENUMS = {}
for one in (DType, NanPropagationMode, ResizeMode, RoundingMode):
    ENUMS |= one.__members__
DTYPES = {"int8": DType.INT8, "int32": DType.INT32, "int64": DType.SHAPE}


def build(call, first, constants, folder):
    """Return the bytes of a graph with one operator and one input. The other operands are constants."""
    graph, attribute = TosaSerializer(str(folder)), TosaSerializerAttribute()
    names = [graph.addPlaceholder(list(first.shape), DTYPES[first.dtype.name], first).name]
    names += [graph.addConst(list(one.shape), DTYPES[one.dtype.name], one).name for one in constants]
    kind = "".join(word.capitalize() for word in call["operator"].split("_"))
    values = [ENUMS[value] if isinstance(value, str) else value for value in call["attributes"]]
    getattr(attribute, f"{kind}Attribute")(*values)
    output = graph.addOutput(call["shape"], ENUMS[call["dtype"]]).name
    graph.addOperator(Op.__members__[call["operator"]], names, [output], attribute)
    return graph.serialize()


def main(folder):
    """Run the calls one after the other, and write their results."""
    results = {}
    with np.load(folder / "arrays.npz") as arrays:
        for number, call in enumerate(json.loads((folder / "calls.json").read_text())):
            first, *constants = (results[name] if name in results else arrays[name] for name in call["inputs"])
            found, status = run(build(call, first, constants, folder), [first], tosa_level="EIGHTK")
            if status != GraphStatus.TOSA_VALID:
                return f"call {number}, {call}: {status}"
            results[str(number)] = found[0]
    np.savez(folder / "results.npz", **results)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
