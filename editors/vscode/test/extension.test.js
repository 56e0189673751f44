// What the extension does with VS Code, which is played here.
"use strict";

const assert = require("node:assert");
const Module = require("node:module");
const test = require("node:test");

/** Loads the extension anew into a VS Code with these settings, and says what it started, stopped and showed. */
function played({ trusted = true, settings = {}, fails = false } = {}) {
  const seen = { started: [], stopped: 0, shown: [], handlers: {} };
  const listen = (name) => (handler) => ((seen.handlers[name] = handler), { dispose() {} });
  const vscode = {
    commands: { registerCommand: (name, handler) => listen(name)(handler), executeCommand: async () => undefined },
    window: { showErrorMessage: async (text) => void seen.shown.push(text) },
    workspace: {
      isTrusted: trusted,
      workspaceFolders: undefined,
      getConfiguration: () => ({ get: (name, otherwise) => settings[name] ?? otherwise }),
      onDidGrantWorkspaceTrust: listen("trust"),
      onDidChangeConfiguration: listen("change"),
    },
  };
  class LanguageClient {
    constructor(id, name, server, options) {
      Object.assign(this, { server, options });
    }
    async start() {
      if (fails) throw new Error("spawn ENOENT");
      seen.started.push({ ...this.server, ...this.options });
    }
    async stop() {
      seen.stopped += 1;
    }
  }
  const original = Module._load;
  Module._load = (name, ...rest) =>
    name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : original(name, ...rest);
  delete require.cache[require.resolve("../src/extension")];
  const extension = require("../src/extension");
  Module._load = original;
  return { extension, seen, vscode };
}

test("it starts the server for specs, and again when a setting of it changes", async () => {
  const { extension, seen } = played({ settings: { command: "/opt/energyc", analysis: false } });
  await extension.activate({ subscriptions: [] });
  assert.deepEqual(seen.started, [
    {
      command: "/opt/energyc",
      args: ["lsp"],
      documentSelector: [{ language: "energy" }],
      initializationOptions: { analysis: false },
    },
  ]);
  seen.handlers.change({ affectsConfiguration: (name) => name === "energyc.trace.server" });
  await seen.handlers["energyc.restart"]();
  assert.deepEqual([seen.started.length, seen.stopped], [2, 1]);
  seen.handlers.change({ affectsConfiguration: (name) => name === "energyc.command" });
  await extension.deactivate();
  assert.deepEqual([seen.started.length, seen.stopped], [3, 3]);
});

test("in a folder that is not trusted it starts nothing until it is", async () => {
  const { extension, seen, vscode } = played({ trusted: false });
  await extension.activate({ subscriptions: [] });
  assert.equal(seen.started.length, 0);
  vscode.workspace.isTrusted = true;
  await seen.handlers.trust();
  assert.equal(seen.started.length, 1);
});

test("where the server does not start, it says how to install it", async () => {
  const { extension, seen } = played({ fails: true });
  await extension.activate({ subscriptions: [] });
  assert.equal(seen.shown.length, 1);
  assert.match(seen.shown[0], /energyc: spawn ENOENT.*pip install 'energyc\[lsp\]'/);
  await extension.deactivate();
});
