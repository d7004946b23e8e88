"""Run Conv2d of int8 in the reference model of TOSA. Arguments: an .npz file of the call, and a folder.

The Python that runs this script has tosa-tools. The result, with channels last, is `ref-result-0.npy` in the folder.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from serializer.tosa_serializer import DType, TosaSerializer, TosaSerializerAttribute
from tosa.Op import Op


def build(call, folder):
    """Return a serializer with the operator; weights, bias and zero points are constants."""
    graph, attribute = TosaSerializer(str(folder)), TosaSerializerAttribute()
    x, kernel = (np.ascontiguousarray(np.moveaxis(call[name], 1, -1)) for name in ("x", "kernel"))
    zeros = [call[name].reshape(1).astype(np.int8) for name in ("x_zero", "w_zero")]
    constants = [
        (kernel, DType.INT8),
        (np.zeros(len(kernel), np.int32), DType.INT32),
        *((z, DType.INT8) for z in zeros),
    ]
    names = [graph.addPlaceholder(list(x.shape), DType.INT8, x).name]
    names += [graph.addConst(list(array.shape), dtype, array).name for array, dtype in constants]
    pad, stride, dilation, shape = (call[name].tolist() for name in ("pad", "stride", "dilation", "shape"))
    attribute.Conv2dAttribute(pad, stride, dilation, False, DType.INT32)
    graph.addOperator(Op.CONV2D, names, [graph.addOutput(shape, DType.INT32).name], attribute)
    return graph


def main(path, folder):
    """Build the graph, and run the reference model."""
    graph = build(dict(np.load(path)), folder)
    (folder / "graph.tosa").write_bytes(graph.serialize())
    (folder / "call.json").write_text(graph.writeJson("graph.tosa"))
    model = Path(sys.executable).parent / "tosa_reference_model"
    done = subprocess.run([model, "--test_desc", folder / "call.json"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
