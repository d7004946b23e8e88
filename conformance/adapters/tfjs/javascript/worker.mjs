// Worker for TensorFlow.js, see docs/worker-protocol.md. The setup and the programs are JavaScript.
//
// A program defines run(x, ...) of arrays {data, shape, dtype} with the layout (n, c, ...spatial), and returns one. It may
// use the names of the setup, and the functions of LAYOUTS below, which move axes without the framework.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";
import { join } from "node:path";
import { compileFunction } from "node:vm";

const PROTOCOL_VERSION = 1;
const PROGRAM_FILE = "program.js";
const TYPES = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };
const PROGRAM_ERRORS = new Set(["ReferenceError", "SyntaxError", "TypeError"]);

// The argument is the folder in which the packages are installed.
const require = createRequire(join(process.argv[2] ?? ".", "worker.mjs"));
// Standard output is the protocol. A framework that prints writes to standard error.
for (const name of ["log", "info", "debug"]) console[name] = console.error;

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
const arrayOf = (tensor) => ({ data: tensor.dataSync(), shape: tensor.shape, dtype: tensor.dtype });
// The first three return the arguments of tf.tensor, the others take a tensor.
const LAYOUTS = {
  plain: (array) => parts(array),
  channelsLast: (array) => parts(transpose(array, [0, ...spatial(array.shape), 1])),
  kernelLast: (array) => parts(transpose(array, [...spatial(array.shape), 1, 0])),
  arrayOf,
  channelsFirst: (tensor) =>
    transpose(arrayOf(tensor), [0, tensor.rank - 1, ...spatial(tensor.shape).map((axis) => axis - 1)]),
  kernelFirst: (tensor) =>
    transpose(arrayOf(tensor), [tensor.rank - 1, tensor.rank - 2, ...spatial(tensor.shape).map((axis) => axis - 2)]),
};

function decoded({ dtype, shape, data }) {
  const bytes = Buffer.from(data, "base64");
  return { dtype, shape, data: new TYPES[dtype](new Uint8Array(bytes).buffer) };
}

function encoded({ dtype, shape, data }) {
  return { dtype, shape, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") };
}

function isArray({ shape, data }) {
  return shape.every(Number.isInteger) && shape.reduce((a, b) => a * b, 1) === data.length;
}

const AsyncFunction = (async () => {}).constructor;
let names = {};

/** Run the setup. It assigns the names that programs use to `names`. */
async function setUp(text) {
  await new AsyncFunction("require", "names", text)(require, names);
  return { hello: PROTOCOL_VERSION, versions: { ...names.versions, node: process.versions.node } };
}

async function runProgram(text, inputs) {
  const known = { ...LAYOUTS, ...names };
  const make = compileFunction(`${text}\nreturn run;`, Object.keys(known), { filename: PROGRAM_FILE });
  const run = make(...Object.values(known));
  const start = performance.now();
  const result = await names.scope(() => run(...inputs));
  const seconds = (performance.now() - start) / 1000;
  // A tensor may have another number of elements than its shape: the suite judges a missing array like a wrong value.
  return { arrays: isArray(result) ? [encoded(result)] : [], seconds };
}

/** Return the error of a reply. Code of the program itself caused it if its frame is the first one. */
function errorOf(error) {
  const first = String(error.stack).split("\n").find((line) => line.startsWith("    at ")) ?? "";
  const isOwn = first.includes(PROGRAM_FILE) || (error instanceof SyntaxError && error.stack.startsWith(PROGRAM_FILE));
  const isTrap = error instanceof WebAssembly.RuntimeError; // the memory of the module may be damaged
  const kind = isTrap ? "crashed" : isOwn && PROGRAM_ERRORS.has(error.name) ? "program" : "rejected";
  return { kind, type: error.name ?? "Error", message: String(error.message ?? error) };
}

function send(reply) {
  const bytes = Buffer.from(JSON.stringify(reply) + "\n");
  for (let sent = 0; sent < bytes.length; ) {
    try {
      sent += writeSync(1, bytes, sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error; // the pipe is full
    }
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { request, hello, setup, program, arrays } = JSON.parse(line);
  try {
    const reply = hello === undefined ? await runProgram(program, arrays.map(decoded)) : await setUp(setup);
    send({ request, ...reply });
  } catch (error) {
    send({ request, error: errorOf(error) });
  }
}
process.exit(0);
