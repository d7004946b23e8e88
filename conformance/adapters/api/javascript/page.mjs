// A page in Chromium that runs programs, over the DevTools protocol. Chromium reads from and writes to two pipes.
//
// The files of the page come from this process: Chromium asks for each of them, and nothing uses the network.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

// A page of this host is a secure context, which WebGPU requires.
const ORIGIN = "http://localhost";
const FLAGS = [
  "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
  "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--mute-audio",
  // Rendering in software, so that results do not depend on the machine's graphics card.
  "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan",
];
const MEDIA_TYPES = {
  ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm",
  ".json": "application/json",
};
const PAGE = "<!doctype html><title>programs</title>";
const OWN_FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Calls methods of the DevTools protocol, and passes events to `onEvent`. */
class Connection {
  constructor(chromium, onEvent) {
    this.pipe = chromium.stdio[3];
    this.count = 0;
    this.pending = new Map();
    let parts = [];
    chromium.stdio[4].on("data", (data) => {
      for (let end; (end = data.indexOf(0)) >= 0; data = data.subarray(end + 1)) {
        const message = JSON.parse(Buffer.concat([...parts, data.subarray(0, end)]).toString());
        parts = [];
        if (message.id === undefined) onEvent(message);
        else this.settle(message);
      }
      parts.push(data);
    });
  }

  settle({ id, result, error }) {
    const { resolve, reject } = this.pending.get(id);
    this.pending.delete(id);
    error ? reject(new Error(`${error.message} ${error.data ?? ""}`)) : resolve(result);
  }

  call(method, params = {}, sessionId) {
    const id = ++this.count;
    this.pipe.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
  }
}

/** Return the file of a URL, or null: /own/ is this folder, /library the module of the adapter, others are packages. */
function fileOf(path, folder, library) {
  if (path === "/") return Buffer.from(PAGE);
  try {
    if (path === "/library.mjs") return readFileSync(library);
    const inside = normalize(path);
    return readFileSync(inside.startsWith("/own/") ? join(OWN_FOLDER, inside.slice(5)) : join(folder, "node_modules", inside));
  } catch {
    return null;
  }
}

function fulfilment(requestId, path, folder, library) {
  const body = fileOf(path, folder, library);
  const type = path === "/" ? "text/html" : (MEDIA_TYPES[extname(path)] ?? "application/octet-stream");
  return {
    requestId,
    responseCode: body ? 200 : 404,
    responseHeaders: [{ name: "Content-Type", value: type }],
    body: (body ?? Buffer.from("")).toString("base64"),
  };
}

/**
 * Open a page and run the setup in it. Return a function that runs a program in the page.
 *
 * program: Chromium. folder: where the packages are installed. library: module with names for programs.
 * A page that crashes ends this process, like a worker that crashes.
 */
export async function openPage(program, folder, library, setup) {
  const profile = mkdtempSync(join(tmpdir(), "conformance-page-"));
  const chromium = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", process.env.CONFORMANCE_PAGE_LOG ? "inherit" : "ignore", "pipe", "pipe"],
  });
  const end = (reason) => {
    console.error(reason);
    chromium.kill("SIGKILL");
    process.exit(1);
  };
  chromium.on("error", (error) => end(`${program}: ${error.message}`));
  chromium.on("exit", (status, signal) => end(`Chromium ended with ${signal ?? `status ${status}`}`));
  process.on("exit", () => {
    chromium.kill("SIGKILL");
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // A child of Chromium that has not ended yet may still write to it.
    }
  });
  let session, onLoad;
  const connection = new Connection(chromium, ({ method, params }) => {
    if (method === "Fetch.requestPaused") {
      const { pathname } = new URL(params.request.url);
      connection.call("Fetch.fulfillRequest", fulfilment(params.requestId, pathname, folder, library), session);
    } else if (method === "Page.loadEventFired") onLoad();
    else if (method === "Inspector.targetCrashed") end("the page crashed");
  });
  const call = (method, params) => connection.call(method, params, session);
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  session = (await connection.call("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  await call("Inspector.enable");
  await call("Fetch.enable", { patterns: [{ urlPattern: "*" }] });
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", {
      expression, awaitPromise: true, returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const load = async () => {
    loaded = new Promise((resolve) => (onLoad = resolve));
    await call("Page.navigate", { url: `${ORIGIN}/` });
    await loaded;
    await evaluate(setupText(setup));
  };
  let loaded;
  let isUsed = false; // whether the page cannot run another program
  await call("Page.enable");
  await load();
  return async ({ program: text, arrays }) => {
    const expression = `runInPage(${JSON.stringify({ program: text, arrays })})`;
    if (isUsed) await load();
    let { isStale, isBroken, ...reply } = await evaluate(expression);
    if (isStale) {
      await load();
      ({ isStale, isBroken, ...reply } = await evaluate(expression));
    }
    isUsed = isBroken;
    return reply;
  };
}

/** Return the expression that loads the module of the adapter in the page, and runs the setup. */
function setupText(setup) {
  return `(async () => {
    const [programs, library] = await Promise.all([import("/own/programs.mjs"), import("/library.mjs")]);
    const load = (path) => new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement("script"), { src: "/" + path, onload: resolve });
      script.onerror = () => reject(new Error("cannot load " + path));
      document.head.append(script);
    });
    await programs.setUp(${JSON.stringify(setup)}, { load, library });
    globalThis.runInPage = (request) => programs.runProgram(request, library);
  })()`;
}
