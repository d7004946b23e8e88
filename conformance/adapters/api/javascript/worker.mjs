// Worker for frameworks in JavaScript, see docs/worker-protocol.md. The setup and the programs are JavaScript.
//
// Arguments: the folder in which the packages are installed, the module with names for programs, and Chromium.
// Programs run in this process, or in a page if the setup calls `page` with the setup of the page.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { execFileSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openPage } from "./page.mjs";
import { PROTOCOL_VERSION, errorOf, runProgram, setUp } from "./programs.mjs";

const [folder, module, chromium] = process.argv.slice(2);
// Standard output is the protocol. A framework that prints writes to standard error.
for (const name of ["log", "info", "debug"]) console[name] = console.error;

const require = createRequire(join(folder, "worker.mjs"));
const library = await import(pathToFileURL(module));
let run = async (request) => {
  const { isStale: _stale, isBroken: _broken, ...reply } = await runProgram(request, library);
  return reply;
};

async function page(setup) {
  run = await openPage(chromium, folder, module, setup);
}

/** Return the version of an installed package. */
function installed(name) {
  return JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version;
}

/** Return the version of Chromium, "" if it is not installed. */
function chromiumVersion() {
  try {
    return execFileSync(chromium, ["--version"], { encoding: "utf8", stdio: "pipe" }).match(/[\d.]+/)?.[0] ?? "";
  } catch {
    return "";
  }
}

async function greet({ setup }) {
  const versions = await setUp(setup, { require, library, page, installed });
  const hosts = { node: process.versions.node, chromium: chromiumVersion() };
  return { hello: PROTOCOL_VERSION, versions: { ...versions, ...hosts } };
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
  const { request, ...rest } = JSON.parse(line);
  try {
    send({ request, ...(await (rest.hello === undefined ? run(rest) : greet(rest))) });
  } catch (error) {
    send({ request, error: errorOf(error) });
  }
}
process.exit(0);
