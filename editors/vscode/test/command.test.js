"use strict";

const assert = require("node:assert");
const test = require("node:test");
const { serverCommand } = require("../src/command");

const linux = (...files) => ({ platform: "linux", home: "/home/ada", exists: (file) => files.includes(file) });

test("the command of the settings", () => {
  assert.equal(serverCommand("/opt/energyc", ["/w"], linux("/w/.venv/bin/energyc")), "/opt/energyc");
  assert.equal(serverCommand(" ${workspaceFolder}/bin/energyc ", ["/w", "/v"], linux()), "/w/bin/energyc");
  assert.equal(serverCommand("~/venv/bin/energyc", [], linux()), "/home/ada/venv/bin/energyc");
  assert.equal(serverCommand("energy~c", [], linux()), "energy~c");
});

test("the environment of the folder, else the command on PATH", () => {
  assert.equal(serverCommand("", ["/v", "/w"], linux("/w/.venv/bin/energyc")), "/w/.venv/bin/energyc");
  assert.equal(serverCommand("", ["/w"], linux()), "energyc");
  assert.equal(serverCommand("", [], linux()), "energyc");
});
