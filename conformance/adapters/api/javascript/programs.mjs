// Run programs in JavaScript, under Node.js and in a page. docs/worker-protocol.md describes requests and replies.
//
// A program defines run(x, ...) of arrays {data, shape, dtype} with the layout (n, c, ...spatial), and returns one, or a
// promise of one. It uses the names of the setup, and the exports of the module of the adapter.

export const PROTOCOL_VERSION = 1;
const PROGRAM_FILE = "program.js";
const PROGRAM_ERRORS = new Set(["ReferenceError", "SyntaxError", "TypeError"]);
// Elements of 16 bits are words, as in arrays of the suite. Names of the framework and of JavaScript.
const TYPES = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array, float64: Float64Array,
};
const AsyncFunction = (async () => {}).constructor;
const CHUNK = 0x8000;

function bytesOf(text) {
  const decoded = atob(text);
  return Uint8Array.from({ length: decoded.length }, (_, at) => decoded.charCodeAt(at));
}

function textOf(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += CHUNK) parts.push(String.fromCharCode(...bytes.subarray(at, at + CHUNK)));
  return btoa(parts.join(""));
}

function decoded({ dtype, shape, data }) {
  return { dtype, shape, data: new TYPES[dtype](bytesOf(data).buffer) };
}

function encoded({ dtype, shape, data }) {
  return { dtype, shape, data: textOf(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)) };
}

function isArray({ shape, data }) {
  return shape.every(Number.isInteger) && shape.reduce((a, b) => a * b, 1) === data.length;
}

/**
 * The names that programs use. `scope` calls a program, and `versions` are those of the framework.
 * `isStale` returns whether an error is due to an earlier program, so that a new page has to run the program again.
 * `isBroken` returns whether the last program has an effect on later ones, so that a new page has to run them.
 */
const names = { scope: (run) => run(), isStale: () => false, isBroken: () => false };

/** Run the setup. `tools` are the functions that it may use. */
export async function setUp(text, tools) {
  await new AsyncFunction("names", ...Object.keys(tools), text)(names, ...Object.values(tools));
  return names.versions ?? {};
}

class ProgramError extends Error {}

function compiled(text, known) {
  try {
    return new Function(...Object.keys(known), `${text}\nreturn run;\n//# sourceURL=${PROGRAM_FILE}`);
  } catch (error) {
    throw new ProgramError(`${error.name}: ${error.message}`);
  }
}

async function result(text, arrays, library) {
  const known = { ...library, ...names };
  const run = compiled(text, known)(...Object.values(known));
  const inputs = arrays.map(decoded);
  const start = performance.now();
  const found = await names.scope(() => run(...inputs));
  const seconds = (performance.now() - start) / 1000;
  // A tensor may have another number of elements than its shape: the suite judges a missing array like a wrong value.
  return { arrays: isArray(found) ? [encoded(found)] : [], seconds };
}

/** Return the reply to a program. `library` has names for programs, in addition to those of the setup. */
export async function runProgram({ program, arrays }, library) {
  try {
    const found = await result(program, arrays, library);
    return { ...found, isBroken: names.isBroken() };
  } catch (error) {
    return { error: errorOf(error), isStale: names.isStale(error), isBroken: names.isBroken() };
  }
}

/** Return the error of a reply. Code of the program itself caused it if its frame is the first one. */
export function errorOf(error) {
  if (error instanceof ProgramError) {
    const [type, ...rest] = error.message.split(": ");
    return { kind: "program", type, message: rest.join(": ") };
  }
  const first = String(error?.stack).split("\n").find((line) => line.startsWith("    at ")) ?? "";
  const isTrap = error instanceof WebAssembly.RuntimeError; // the memory of the module may be damaged
  const kind = isTrap ? "crashed" : first.includes(PROGRAM_FILE) && PROGRAM_ERRORS.has(error.name) ? "program" : "rejected";
  return { kind, type: error?.name ?? "Error", message: String(error?.message ?? error) };
}
