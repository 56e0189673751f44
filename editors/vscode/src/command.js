// Which program is the language server. Nothing here knows VS Code, so that it can be tested alone.
"use strict";

const path = require("path");

/**
 * The command that starts the language server.
 *
 * @param {string} configured the setting `energyc.command`
 * @param {string[]} folders the folders of the workspace
 * @param {{platform: string, home: string, exists: (file: string) => boolean}} machine
 * @returns {string}
 */
function serverCommand(configured, folders, machine) {
  if (configured.trim()) {
    const folder = folders[0] ?? "";
    return configured.trim().replaceAll("${workspaceFolder}", folder).replace(/^~(?=$|[\\/])/, machine.home);
  }
  const inside = machine.platform === "win32" ? path.win32.join("Scripts", "energyc.exe") : path.posix.join("bin", "energyc");
  const own = folders.map((folder) => path.join(folder, ".venv", inside)).find(machine.exists);
  return own ?? "energyc";
}

module.exports = { serverCommand };
