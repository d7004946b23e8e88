// Names for programs: nodes and arrays, and a function that computes the model of a list of nodes.
//
// A model is written in the format of ONNX, which is a message of protocol buffers:
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto

const IR_VERSION = 10;
const CONTRIB_VERSION = 1; // of the nodes that ONNX Runtime adds
const ELEMENT_TYPES = {
  float32: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, bool: 9, float16: 10, float64: 11,
  uint32: 12, uint64: 13, bfloat16: 16,
};
const LONG_INTEGERS = { int64: BigInt64Array, uint64: BigUint64Array };
const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
  uint32: Uint32Array, float32: Float32Array, float64: Float64Array, ...LONG_INTEGERS,
};
const FLOAT = 1, INT = 2, STRING = 3, INTS = 7; // AttributeProto.AttributeType

const utf8 = new TextEncoder();

function varint(value) {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    const low = Number(rest & 127n);
    if (rest < 128n) return [...bytes, low];
    bytes.push(low | 128);
  }
}

/** Return a field whose value is an integer. */
const integer = (field, value) => Uint8Array.from([...varint(field * 8), ...varint(value)]);

/** Return a field whose value is a float32 number. */
const float32 = (field, value) =>
  Uint8Array.from([...varint(field * 8 + 5), ...new Uint8Array(Float32Array.of(value).buffer)]);

/** Return a field whose value is a text, bytes or a message: a list of fields. */
function bytes(field, value) {
  const body = typeof value === "string" ? utf8.encode(value) : Array.isArray(value) ? joined(value) : value;
  return joined([Uint8Array.from([...varint(field * 8 + 2), ...varint(body.length)]), body]);
}

function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function attribute(name, value) {
  if (typeof value === "string") return [bytes(1, name), bytes(4, value), integer(20, STRING)];
  if (Array.isArray(value)) return [bytes(1, name), ...value.map((one) => integer(8, one)), integer(20, INTS)];
  if (typeof value === "object") return [bytes(1, name), float32(2, value.float), integer(20, FLOAT)];
  return [bytes(1, name), integer(3, value), integer(20, INT)];
}

/**
 * Return a node. Attributes are integers, lists of integers, texts, and objects such as { float: -0.5 }.
 *
 * domain: of a node that the runtime adds to those of ONNX.
 */
export function node(type, inputs, outputs, { domain = "", ...attributes } = {}) {
  const fields = [
    ...inputs.map((name) => bytes(1, name)),
    ...outputs.map((name) => bytes(2, name)),
    bytes(4, type),
    ...Object.entries(attributes).map(([name, value]) => bytes(5, attribute(name, value))),
    ...(domain ? [bytes(7, domain)] : []),
  ];
  return Object.assign(fields, { domain });
}

/** Return a number as the bits of a float16, rounded to the nearest, and to the even one of two. */
function half(number) {
  const size = Math.abs(number);
  const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0;
  if (Number.isNaN(number)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  // The distance between neighbours is 2 ** (exponent - 10), and at least that of subnormal numbers.
  const exponent = Math.max(Math.floor(Math.log2(size)), -14);
  const steps = size / 2 ** (exponent - 10);
  const low = Math.floor(steps);
  const up = steps - low > 0.5 || (steps - low === 0.5 && low % 2);
  return sign | (low + (up ? 1 : 0) + (exponent + 14) * 1024);
}

/** Return an array of numbers. */
export function array(dtype, shape, values) {
  if (dtype === "float16") return { dtype, shape, data: Uint16Array.from(values, (one) => half(Number(one))) };
  return { dtype, shape, data: ARRAYS[dtype].from(values, dtype in LONG_INTEGERS ? BigInt : Number) };
}

function constant(name, { dtype, shape, data }) {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [...shape.map((size) => integer(1, size)), integer(2, ELEMENT_TYPES[dtype]), bytes(8, name), bytes(9, raw)];
}

function input(name, { dtype, shape }) {
  const sizes = bytes(2, shape.map((size) => bytes(1, [integer(1, size)])));
  return [bytes(1, name), bytes(2, [bytes(1, [integer(1, ELEMENT_TYPES[dtype]), sizes])])];
}

/** Return the bytes of a model. The output y has no type and no shape, or the type `outputType`. */
export function model(opset, nodes, inputs, constants, outputType) {
  // A reader that requires a type and a shape ignores their values.
  const type = outputType ? [bytes(2, [bytes(1, [integer(1, ELEMENT_TYPES[outputType]), bytes(2, [])])])] : [];
  const graph = [
    ...nodes.map((one) => bytes(1, one)),
    bytes(2, "graph"),
    ...Object.entries(constants).map(([name, one]) => bytes(5, constant(name, one))),
    ...Object.entries(inputs).map(([name, one]) => bytes(11, input(name, one))),
    bytes(12, [bytes(1, "y"), ...type]),
  ];
  const domains = [...new Set(nodes.map((one) => one.domain).filter(Boolean))];
  const opsets = [["", opset], ...domains.map((domain) => [domain, CONTRIB_VERSION])];
  const imports = opsets.map(([domain, version]) => bytes(8, [bytes(1, domain), integer(2, version)]));
  return joined([integer(1, IR_VERSION), bytes(7, graph), ...imports]);
}

/** Return a function that computes a model with ONNX Runtime. `options` are those of a session. */
export function runner(ort, opset, options, outputType) {
  return async (nodes, inputs, constants) => {
    const bytes = model(opset, nodes, inputs, constants, outputType);
    const session = await ort.InferenceSession.create(bytes, options);
    try {
      const feeds = Object.entries(inputs).map(([name, one]) => [name, new ort.Tensor(one.dtype, one.data, one.shape)]);
      const { y } = await session.run(Object.fromEntries(feeds));
      return { dtype: y.type, shape: [...y.dims], data: y.data };
    } finally {
      await session.release();
    }
  };
}
