// The grammar on every shipped spec, by the engine of VS Code itself.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const oniguruma = require("vscode-oniguruma");
const { Registry, parseRawGrammar, INITIAL } = require("vscode-textmate");

const here = path.join(__dirname, "..");
const specs = path.join(here, "..", "..", "specs");

async function loaded(scope = "source.energy", file = "energy.tmLanguage.json") {
  const wasm = fs.readFileSync(path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength)).catch(() => undefined);
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (name) => {
      const known = { "source.energy": "energy.tmLanguage.json", "markdown.energy.codeblock": "markdown.tmLanguage.json" };
      if (!(name in known)) return null;
      const place = path.join(here, "syntaxes", known[name]);
      return parseRawGrammar(fs.readFileSync(place, "utf8"), place);
    },
  });
  return registry.loadGrammar(scope);
}

/** The pieces of a text with the innermost scope of each; the state is carried from line to line. */
function pieces(grammar, text) {
  let state = INITIAL;
  return text.split("\n").map((line) => {
    const tokenized = grammar.tokenizeLine(line, state);
    state = tokenized.ruleStack;
    assert.ok(!tokenized.stoppedEarly);
    return tokenized.tokens.map((token) => ({
      text: line.slice(token.startIndex, token.endIndex),
      scope: token.scopes[token.scopes.length - 1],
      scopes: token.scopes,
    }));
  });
}

function scopesOf(grammar, text, word) {
  return pieces(grammar, text).flat().filter((piece) => piece.text.trim() === word).map((piece) => piece.scope);
}

const BARE = new Set(["source.energy", "meta.settings.energy", "meta.data.energy"]);

for (const name of fs.readdirSync(specs).filter((name) => name.endsWith(".energy"))) {
  test(`every piece of ${name} has a scope, and comments are comments`, async () => {
    const grammar = await loaded();
    const text = fs.readFileSync(path.join(specs, name), "utf8");
    const lines = text.split("\n");
    pieces(grammar, text).forEach((line, number) => {
      for (const piece of line) {
        assert.ok(!BARE.has(piece.scope) || !piece.text.trim(), `${name}:${number + 1}: '${piece.text}' has no scope`);
      }
      const comment = lines[number].indexOf("#");
      const seen = line.filter((piece) => piece.scope.startsWith("comment")).map((piece) => piece.text).join("");
      assert.equal(seen, comment < 0 ? "" : lines[number].slice(comment));
    });
    const last = pieces(grammar, `${text}\nlet q = 1`).at(-1);
    assert.deepEqual(last[0].scopes, ["source.energy", "storage.type.energy"], "each block of the spec has ended");
  });
}

test("words by their places", async () => {
  const grammar = await loaded();
  const is = (text, word, ...expected) => assert.deepEqual(scopesOf(grammar, text, word), expected, text);
  is("energy pull = 1/2 * sum[d](z[d]^2)", "pull", "entity.name.function.energy");
  is("energy pull = 1/2 * sum[d](z[d]^2)", "sum", "support.function.energy");
  is("let sums[d] = z[d]", "sums", "entity.name.function.energy");
  is("param W[I, J] ~ glorot, V[J] = 0", "glorot", "support.class.energy");
  is("state z[D] in standardized[D]", "standardized", "support.type.energy");
  is("force f on z[d] = tanh'(u)", "tanh", "support.function.energy");
  is("force f on z[d] = tanh(u)", "on", "keyword.other.energy");
  is("let a = where(i < j and not b, 1e-3, .5)", "and", "keyword.operator.logical.energy");
  is("let a = where(i < j and not b, 1e-3, .5)", "1e-3", "constant.numeric.energy");
  is("train { rule = tracking-aep, lr.W = geometric(first = 0.1) }", "tracking-aep", "constant.language.energy");
  is("train { rule = tracking-aep, lr.W = geometric(first = 0.1) }", "lr.W", "entity.other.attribute-name.energy");
  is("relax t in T {\n  step = 0.1\n}\nlet step = 2", "step", "entity.other.attribute-name.energy", "entity.name.function.energy");
  is("data text = characters(context = T)", "context", "entity.other.attribute-name.energy");
  is("layer block {\n state x[D]\n}", "state", "storage.type.energy");
  is("next h[i] = mlp.x[i]", "x", "variable.other.member.energy");
});

test("a block of Markdown holds a spec", async () => {
  const grammar = await loaded("markdown.energy.codeblock");
  const text = "Words\n\n```energy\nnetwork n  # here\nstate z\n```\nenergy is a word";
  const lines = pieces(grammar, text);
  assert.ok(lines[3].some((piece) => piece.scope === "comment.line.number-sign.energy"));
  assert.ok(lines[4].some((piece) => piece.scope === "storage.type.energy"));
  assert.ok(lines[6].every((piece) => !piece.scopes.includes("source.energy") && piece.scope.startsWith("markdown")));
});
