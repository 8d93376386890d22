// Client of `muster lsp`: starts the server with the paths and arguments of the settings, and again when they change.
"use strict";

const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["yaml", "json"];
const SCHEMES = ["file", "untitled"];
const INSTALL = "pip install 'muster-scheduling[editor]', in a checkout pip install '.[editor]'";
const SETTINGS = "Open settings";

/** @type {LanguageClient | undefined} */
let client;
/** Starts and stops, one after the other. */
let pending = Promise.resolve();

function created() {
  const settings = workspace.getConfiguration("muster");
  const server = { command: settings.get("path"), args: ["lsp", ...settings.get("arguments")] };
  const documentSelector = LANGUAGES.flatMap((language) => SCHEMES.map((scheme) => ({ language, scheme })));
  return new LanguageClient("muster", "Muster", server, { documentSelector });
}

async function start() {
  client = created();
  try {
    await client.start();
  } catch (error) {
    client.error("The language server does not start", error, false);
    const path = workspace.getConfiguration("muster").get("path");
    const message = `${path} lsp does not start: ${error.message}. Install it (${INSTALL}), or set muster.path.`;
    // Not awaited: the message stays until it is answered.
    window.showErrorMessage(message, SETTINGS).then((answer) => {
      if (answer === SETTINGS) {
        commands.executeCommand("workbench.action.openSettings", "muster.path");
      }
    });
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running?.isRunning()) {
    await running.stop();
  }
}

function restart() {
  pending = pending.then(stop).then(start);
  return pending;
}

function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("muster.restart", restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("muster.path") || change.affectsConfiguration("muster.arguments")) {
        restart();
      }
    }),
  );
  return restart();
}

function deactivate() {
  pending = pending.then(stop);
  return pending;
}

module.exports = { activate, deactivate };
