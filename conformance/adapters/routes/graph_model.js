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
    signature.inputs[name].name,
    tf.tensor(new types[dtype](bytesOf(data)), shape, dtype),
  ]);
  const x = await graph.executeAsync(Object.fromEntries(tensors));
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
