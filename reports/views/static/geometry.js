// The input cells that each output cell is computed from, per axis, for the drawing of windows.
// Positions are relative to the unpadded input: negative positions and positions past its size are padding.
window.Report.withData(() => {
  "use strict";
  const { data, unravel } = window.Report;
  const IMAGE_AXES = 2; // (n, c) come before the spatial axes
  const MOST_AXES = 3;

  const range = (start, end) => Array.from({ length: Math.max(0, end - start) }, (_, step) => start + step);
  // How the output of an operator depends on x. An operator that the suite does not know has no drawing.
  const propertiesOf = (operator) => data.operators[operator] || { geometry: null, gradient: false, per_cell: false };
  const isGradient = (operator) => propertiesOf(operator).gradient;
  const isInteger = (value, least) => Number.isInteger(value) && value >= least;

  // Padding before and after an axis. With "same_upper" an odd cell is added after, with "same_lower" before.
  function pads(padding, size, window, stride, dilation) {
    if (Array.isArray(padding)) return padding[size.axis];
    if (padding === "valid") return [0, 0];
    if (padding !== "same_upper" && padding !== "same_lower") return null;
    const windows = Math.ceil(size.extent / stride);
    const total = Math.max(0, (windows - 1) * stride + (window - 1) * dilation + 1 - size.extent);
    const less = Math.floor(total / 2);
    return padding === "same_upper" ? [less, total - less] : [total - less, less];
  }

  // Number of windows: the full ones, and a partial one if the rounding adds it.
  function windows(extent, before, after, window, stride, dilation, rounding) {
    const room = before + extent + after - ((window - 1) * dilation + 1);
    if (room < 0) return 0;
    const count = Math.floor(room / stride) + 1;
    const inside = count * stride < before + extent + Math.min(0, after);
    return room % stride > 0 && (rounding === "full" || (rounding === "ceil" && inside)) ? count + 1 : count;
  }

  function windowed(axis, extent, { window, stride, padding, dilation, rounding }) {
    const [size, step, gap] = [window[axis], stride[axis], dilation[axis]];
    if (!isInteger(size, 1) || !isInteger(step, 1) || !isInteger(gap, 1)) return null;
    const ends = pads(padding, { axis, extent }, size, step, gap);
    if (!ends || !ends.every(Number.isInteger)) return null;
    const [before, after] = ends;
    const same = !Array.isArray(padding) && padding !== "valid";
    const outputs = windows(extent, before, after, size, step, gap, same ? "floor" : rounding || "floor");
    const reads = (output) => range(0, size).map((cell) => output * step + cell * gap - before);
    return outputs > 0 ? { size: extent, before, after, outputs, reads } : null;
  }

  // Transposed convolution: input i contributes to the outputs i * stride + k * dilation - before.
  function transposed(axis, extent, { window, stride, padding, dilation }, outputs) {
    const before = Array.isArray(padding) ? padding[axis][0] : null;
    if (!isInteger(stride[axis], 1) || !Number.isInteger(before) || !isInteger(outputs, 1)) return null;
    const reads = (output) =>
      range(0, window[axis])
        .map((cell) => (output + before - cell * dilation[axis]) / stride[axis])
        .filter((cell) => Number.isInteger(cell) && cell >= 0 && cell < extent)
        .sort((one, other) => one - other);
    return { size: extent, before: 0, after: 0, outputs, reads };
  }

  function bins(extent, outputs) {
    if (!isInteger(outputs, 1) || extent === 0) return null;
    const reads = (output) => range(Math.floor((output * extent) / outputs), Math.ceil(((output + 1) * extent) / outputs));
    return { size: extent, before: 0, after: 0, outputs, reads };
  }

  // A float as an exact quotient of integers.
  function quotient(value) {
    let [numerator, denominator] = [value, 1];
    while (!Number.isInteger(numerator)) [numerator, denominator] = [2 * numerator, 2 * denominator];
    return [BigInt(numerator), BigInt(denominator)];
  }

  // Fractional max pooling with sample u: window i starts at floor((i + u)a) - floor(ua), the last one at the end.
  function fractional(extent, window, outputs, sample) {
    if (!isInteger(window, 1) || !isInteger(outputs, 1) || window + outputs - 1 > extent || !(sample >= 0 && sample < 1)) return null;
    const [numerator, denominator] = quotient(sample);
    const [slack, gaps] = [BigInt(extent - window), BigInt(Math.max(outputs - 1, 1))];
    const at = (number) => Number(((BigInt(number) * denominator + numerator) * slack) / (denominator * gaps) - (numerator * slack) / (denominator * gaps));
    const start = (output) => (output === outputs - 1 ? extent - window : at(output));
    return { size: extent, before: 0, after: 0, outputs, reads: (output) => range(start(output), start(output) + window) };
  }

  // Unpooling: each output is the last cell of x with its index, if there is one.
  function unpooled({ x, indices }, size, outputs, plane) {
    if (!indices?.data || !Array.isArray(outputs) || !outputs.every((one) => isInteger(one, 1)) || outputs.length !== size.length || String(indices.shape) !== String(x.shape)) return null;
    const cells = size.reduce((one, other) => one * other, 1);
    const first = (plane[0] * x.shape[1] + plane[1]) * cells;
    const own = indices.data.slice(first, first + cells);
    const reads = (output) => {
      const from = own.lastIndexOf(output.reduce((position, index, axis) => position * outputs[axis] + index, 0));
      return from < 0 ? size.map(() => []) : unravel(from, size).map((index) => [index]);
    };
    return { axes: size.map((extent, axis) => ({ size: extent, before: 0, after: 0, overhang: 0, outputs: outputs[axis] })), outputs, reads };
  }

  // The input cell that a padding mode copies. Constant padding copies none and returns the padded position.
  const SOURCES = {
    constant: (cell) => cell,
    edge: (cell, extent) => Math.min(Math.max(cell, 0), extent - 1),
    wrap: (cell, extent) => ((cell % extent) + extent) % extent,
    symmetric: (cell, extent) => {
      const at = ((cell % (2 * extent)) + 2 * extent) % (2 * extent);
      return at < extent ? at : 2 * extent - 1 - at;
    },
    reflect: (cell, extent) => {
      const turn = Math.max(1, 2 * (extent - 1));
      const at = ((cell % turn) + turn) % turn;
      return at < extent ? at : turn - at;
    },
  };

  function padded(axis, extent, { pads: ends, mode }) {
    const [before, after] = ends[axis];
    const source = SOURCES[mode];
    if (!source || ![before, after].every(Number.isInteger) || before + extent + after < 1) return null;
    // Cropping comes before padding, so the modes repeat cells of the cropped input.
    const [start, left] = [Math.max(0, -before), extent + Math.min(0, before) + Math.min(0, after)];
    if (left < 1) return null;
    const reads = (output) => [start + source(output - Math.max(0, before), left)];
    return { size: extent, before, after, outputs: before + extent + after, reads };
  }

  // A decimal number as a quotient of integers, and the quotient of the cells of x and of the output without one.
  function stepOf(axis, extent, outputs, { scale }) {
    if (!Array.isArray(scale)) return [extent, outputs];
    const decimals = (String(scale[axis]).split(".")[1] || "").length;
    return [10 ** decimals, Math.round(scale[axis] * 10 ** decimals)];
  }

  // The coordinate of an output cell of resizing, as a quotient of integers.
  const COORDINATES = {
    half_pixel: (output, [n, m]) => [(2 * output + 1) * n - m, 2 * m],
    pytorch_half_pixel: (output, [n, m], _, outputs) => (outputs === 1 ? [0, 1] : [(2 * output + 1) * n - m, 2 * m]),
    asymmetric: (output, [n, m]) => [output * n, m],
    half_pixel_symmetric: (output, [n, m], extent, outputs) => [(extent - 1) * m + (2 * output + 1 - outputs) * n, 2 * m],
    tf_half_pixel_for_nn: (output, [n, m]) => [(2 * output + 1) * n, 2 * m],
    align_corners: (output, _, extent, outputs) => (outputs === 1 ? [0, 1] : [output * (extent - 1), outputs - 1]),
  };
  const NEAREST = {
    floor: (numerator, denominator) => Math.floor(numerator / denominator),
    ceil: (numerator, denominator) => Math.ceil(numerator / denominator),
    round_prefer_floor: (numerator, denominator) => Math.ceil((2 * numerator - denominator) / (2 * denominator)),
    round_prefer_ceil: (numerator, denominator) => Math.floor((2 * numerator + denominator) / (2 * denominator)),
  };

  // Resizing: the cells with a weight other than 0. Cells beyond an end are the end.
  function resampled(axis, extent, parameters, outputs) {
    const { mode, coordinates, nearest_rounding: rounding } = parameters;
    if (!["nearest", "linear", "cubic"].includes(mode) || parameters.antialias || parameters.exclude_outside) return null;
    if (!isInteger(outputs, 1) || !COORDINATES[coordinates] || (mode === "nearest" && !NEAREST[rounding])) return null;
    const step = stepOf(axis, extent, outputs, parameters);
    if (!isInteger(step[0], 1) || !isInteger(step[1], 1)) return null;
    const inside = (cell) => Math.min(Math.max(cell, 0), extent - 1);
    const reads = (output) => {
      const [numerator, denominator] = COORDINATES[coordinates](output, step, extent, outputs);
      if (mode === "nearest") return [inside(NEAREST[rounding](numerator, denominator))];
      const first = Math.floor(numerator / denominator);
      const reach = numerator % denominator === 0 ? [0, 1] : mode === "cubic" ? [-1, 3] : [0, 2];
      return [...new Set(range(first + reach[0], first + reach[1]).map(inside))];
    };
    return { size: extent, before: 0, after: 0, outputs, reads };
  }

  // The axes of a case; null if it has no windows or its parameters are invalid.
  function axesOf({ operator, inputs, parameters: given, expected }, plane) {
    const { geometry: kind, gradient } = propertiesOf(operator);
    const size = inputs.x?.shape.slice(IMAGE_AXES);
    if (!size || size.length === 0 || size.length > MOST_AXES) return null;
    const window = inputs.kernel && !given.window ? inputs.kernel.shape.slice(IMAGE_AXES) : given.window;
    const target = gradient ? inputs.grad?.shape : given.then ? null : expected.shape;
    const parameters = { ...given, window };
    const each = (make) => size.map((extent, axis) => make(axis, extent));
    const listed = (...names) => names.every((name) => Array.isArray(parameters[name]) && parameters[name].length === size.length);
    if (kind === "windows")
      return listed("window", "stride", "dilation") ? each((axis, extent) => windowed(axis, extent, parameters)) : null;
    if (kind === "transposed")
      return listed("window", "stride", "dilation") && target ? each((axis, extent) => transposed(axis, extent, parameters, target[axis + IMAGE_AXES])) : null;
    if (kind === "bins") return listed("output_size") ? each((axis, extent) => bins(extent, parameters.output_size[axis])) : null;
    if (kind === "fractions" && listed("window", "output_size") && inputs.samples?.data) {
      const first = (plane[0] * inputs.x.shape[1] + plane[1]) * size.length;
      return each((axis, extent) => fractional(extent, window[axis], parameters.output_size[axis], inputs.samples.data[first + axis]));
    }
    if (kind === "global") return each((_, extent) => bins(extent, 1));
    if (kind === "resampling")
      return target ? each((axis, extent) => resampled(axis, extent, parameters, target[axis + IMAGE_AXES])) : null;
    if (kind === "pads") return listed("pads") ? each((axis, extent) => padded(axis, extent, parameters)) : null;
    return null;
  }

  // Add the overhang of a partial last window past the padding.
  function withOverhang(axis) {
    const last = Math.max(...axis.reads(axis.outputs - 1));
    return { ...axis, overhang: Math.max(0, last + 1 - axis.size - Math.max(0, axis.after)) };
  }

  // The geometry of a plane: axes, number of outputs per axis, and the input positions that an output reads per axis.
  function geometry(one, plane = [0, 0]) {
    const size = one.inputs.x?.shape.slice(IMAGE_AXES) || [];
    const { geometry: kind, gradient, per_cell: perCell } = propertiesOf(one.operator);
    if (kind === "unpooling") return size.length > 0 && size.length <= MOST_AXES ? unpooled(one.inputs, size, one.parameters.output_size, plane) : null;
    const axes = axesOf(one, plane);
    if (!axes || axes.some((axis) => axis === null)) return null;
    const outputs = axes.map((axis) => axis.outputs);
    // The output has one cell for each window, unless it is a gradient or has a cell for each cell of a window.
    const isPerWindow = kind === "windows" && !gradient && !perCell;
    const known = isPerWindow && !one.parameters.then && one.expected.shape?.slice(IMAGE_AXES);
    if (known && String(known) !== String(outputs)) return null; // the drawing would contradict the expected shape
    return { axes: axes.map(withOverhang), outputs, reads: (output) => axes.map((axis, number) => axis.reads(output[number])) };
  }

  // Why a case has no drawing.
  function whyNot({ operator, inputs, parameters, expected }) {
    const axes = (inputs.x?.shape.length || 0) - IMAGE_AXES;
    const { geometry: kind } = propertiesOf(operator);
    if (expected.rejected) return "The call must be rejected and has no output.";
    if (axes < 1) return "The input has no spatial axes.";
    if (axes > MOST_AXES) return `The input has more than ${MOST_AXES} spatial axes.`;
    if (parameters.then) return "The case combines two operators.";
    if (kind === "points") return "An output depends on one row of the matrix, not on cells of an image.";
    if (kind === "deformed") return "The cells that an output reads depend on the offsets.";
    if (kind === "sampling") return "The cells that an output reads depend on its point of the grid.";
    if (kind === "cells") return "Each output is computed from the cell at its own position.";
    if (kind === "channels") return "Each output is computed from channels of the cell at its own position.";
    const isMoved = kind === "to_blocks" || kind === "from_blocks" || kind === "to_columns" || kind === "from_columns";
    if (isMoved) return "Cells move between channels, and the drawing shows one channel.";
    return "The positions of the windows do not follow from the parameters.";
  }

  // The kind of a position of an axis: input, padding, cropped, or beyond the padding.
  function kindOf(axis, position) {
    if (position < -axis.before || (axis.after < 0 && position >= axis.size + axis.after)) return position >= 0 && position < axis.size ? "cropped" : "beyond";
    if (position >= 0 && position < axis.size) return "input";
    return position < axis.size + axis.after ? "padding" : "beyond";
  }

  // The kind of a cell is the first of these that one of its positions has.
  const ORDER = ["beyond", "cropped", "padding", "input"];
  const kindAt = (axes, place) => ORDER.find((kind) => axes.some((axis, number) => kindOf(axis, place[number]) === kind));

  Object.assign(window.Report, { geometry, kindAt, whyNot, isGradient });
});
