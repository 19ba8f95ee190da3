/* Perfetto's own engine under node: `node engine.js FOLDER < requests > replies`, both a TraceProcessorRpcStream.

   FOLDER holds engine_bundle.js and its WebAssembly, which are made for a browser's worker: it gets the few things that it
   asks a browser for, and every file comes from FOLDER. */

"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const STARTUP_MS = 3000; /* from the delivery of the WebAssembly until it takes requests */
const folder = process.argv[2], node = process, replies = [];
const port = { onmessage: null, postMessage: (bytes) => replies.push(Buffer.from(bytes)) };

function answer() {
  port.onmessage({ data: new Uint8Array(fs.readFileSync(0)) });
  const all = Buffer.concat(replies);
  for (let at = 0; at < all.length;) at += fs.writeSync(1, all, at);
  node.exit(0);
}

class FileRequest {
  open(method, name) { this.name = path.basename(name); }
  send() {
    const bytes = new Uint8Array(fs.readFileSync(path.join(folder, this.name)));
    Object.assign(this, { status: 200, readyState: 4, response: bytes.buffer });
    if (this.onload) setTimeout(() => this.onload(), 0);
  }
}

globalThis.process = undefined; /* the engine refuses node where it sees it */
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = globalThis.importScripts = function () {};
globalThis.location = { href: "file:///engine_bundle.js" };
globalThis.XMLHttpRequest = FileRequest;
globalThis.fetch = async (name) => new Response(
  fs.readFileSync(path.join(folder, path.basename(String(name)))), { headers: { "content-type": "application/wasm" } });
console.warn = console.log = (...words) => node.stderr.write(words.join(" ") + "\n");
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf-8"), { filename: "engine_bundle.js" });
self.onmessage({ data: port });
setTimeout(answer, STARTUP_MS);
