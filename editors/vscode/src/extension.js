// Starts `energyc lsp` for specs, and again when its settings change.
"use strict";

const fs = require("fs");
const os = require("os");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { serverCommand } = require("./command");

/** @type {LanguageClient | undefined} */
let client;
/** Starts and stops follow one another. */
let last = Promise.resolve();

function activate(context) {
  const restarted = () => (last = last.then(restart));
  context.subscriptions.push(
    vscode.commands.registerCommand("energyc.restart", restarted),
    vscode.workspace.onDidGrantWorkspaceTrust(restarted),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (["command", "arguments", "analysis"].some((name) => change.affectsConfiguration(`energyc.${name}`))) {
        restarted();
      }
    }),
  );
  return restarted();
}

function deactivate() {
  return (last = last.then(stop));
}

async function restart() {
  await stop();
  if (vscode.workspace.isTrusted) {
    await start();
  }
}

async function start() {
  const settings = vscode.workspace.getConfiguration("energyc");
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  const machine = { platform: process.platform, home: os.homedir(), exists: fs.existsSync };
  const command = serverCommand(settings.get("command", ""), folders, machine);
  const server = { command, args: settings.get("arguments", ["lsp"]) };
  client = new LanguageClient("energyc", "energyc", server, {
    documentSelector: [{ language: "energy" }],
    initializationOptions: { analysis: settings.get("analysis", true) },
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    await explain(command, error);
  }
}

async function stop() {
  const stopped = client;
  client = undefined;
  await stopped?.stop().catch(() => undefined);
}

/** Says what to do where the server does not start; highlighting and snippets go on. */
async function explain(command, error) {
  const text = `The language server does not start (${command}: ${error.message ?? error}). Install it with: pip install 'energyc[lsp]'`;
  if ((await vscode.window.showErrorMessage(text, "Open Settings")) !== undefined) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "energyc.command");
  }
}

module.exports = { activate, deactivate };
