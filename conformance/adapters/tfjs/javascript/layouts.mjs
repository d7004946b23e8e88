// Names for programs: functions that move the axes of arrays without the framework.

/** Return an array with its axes in another order, as numpy.transpose does. */
function transpose({ data, shape, dtype }, order) {
  const sizes = order.map((axis) => shape[axis]);
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  const moved = new data.constructor(data.length);
  const position = sizes.map(() => 0);
  for (let n = 0; n < moved.length; n++) {
    moved[n] = data[position.reduce((sum, at, axis) => sum + at * strides[order[axis]], 0)];
    for (let axis = sizes.length - 1; axis >= 0 && ++position[axis] === sizes[axis]; axis--) position[axis] = 0;
  }
  return { data: moved, shape: sizes, dtype };
}

const spatial = (shape) => shape.slice(2).map((_, axis) => axis + 2);
const parts = ({ data, shape, dtype }) => [data, shape, dtype];

// These return the arguments of tf.tensor.
export const plain = (array) => parts(array);
export const channelsLast = (array) => parts(transpose(array, [0, ...spatial(array.shape), 1]));
export const kernelLast = (array) => parts(transpose(array, [...spatial(array.shape), 1, 0]));

// These take a tensor, and return a promise: a result on a graphics card cannot be read at once.
export const arrayOf = async (tensor) => ({ data: await tensor.data(), shape: tensor.shape, dtype: tensor.dtype });
export const channelsFirst = async (tensor) =>
  transpose(await arrayOf(tensor), [0, tensor.rank - 1, ...spatial(tensor.shape).map((axis) => axis - 1)]);
export const kernelFirst = async (tensor) =>
  transpose(await arrayOf(tensor), [tensor.rank - 1, tensor.rank - 2, ...spatial(tensor.shape).map((axis) => axis - 2)]);

/**
 * Return a function that calls a program, and then disposes of its tensors. tf.tidy takes no promises.
 *
 * device: of WebGPU. After an error in its commands, results of later programs are wrong, so `isBroken` is set.
 */
export function scope(tf, device, names = {}) {
  return async (run) => {
    let isBroken = false;
    names.isBroken = () => isBroken;
    device?.pushErrorScope("validation");
    tf.engine().startScope();
    try {
      return await run();
    } finally {
      tf.engine().endScope();
      isBroken = Boolean(await device?.popErrorScope());
    }
  };
}
