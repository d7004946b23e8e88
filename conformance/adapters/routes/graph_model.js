const tf = require("@tensorflow/tfjs");
require("@tensorflow/tfjs-backend-wasm");

const types = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };
const bytesOf = (text) => new Uint8Array(Buffer.from(text, "base64")).buffer;

async function run({ model, weightData, backend, arrays }) {
  await tf.setBackend(backend);
  const { modelTopology, weightsManifest, signature } = model;
  const weightSpecs = weightsManifest.flatMap((group) => group.weights);
  const parts = { modelTopology, weightSpecs, weightData: bytesOf(weightData), signature };
  const graph = await tf.loadGraphModel(tf.io.fromMemory(parts));
  const tensors = Object.entries(arrays).map(([name, [dtype, shape, data]]) => [
    // The name of an input of several has an index.
    (signature.inputs[name] ?? signature.inputs[`${name}:0`]).name,
    tf.tensor(new types[dtype](bytesOf(data)), shape, dtype),
  ]);
  const outputs = Object.keys(signature.outputs).sort((a, b) => number(a) - number(b));
  const names = outputs.map((name) => signature.outputs[name].name);
  const results = await graph.executeAsync(Object.fromEntries(tensors), names.length > 1 ? names : undefined);
  return Promise.all([results].flat().map(encoded));
}

// Outputs are named output_0 and output_1, or Identity:0 and Identity_1:0.
const number = (name) => Number(name.match(/_(\d+)(:0)?$/)?.[1] ?? 0);

async function encoded(x) {
  // The array of a tensor of int32 can be a Float32Array.
  const data = types[x.dtype].from(await x.data());
  return [x.dtype, x.shape, Buffer.from(data.buffer).toString("base64")];
}

run(JSON.parse(require("fs").readFileSync(0))).then(
  (result) => console.log(JSON.stringify(result)),
  (error) => {
    console.error(String(error).replaceAll("\n", " "));
    process.exit(1);
  },
);
