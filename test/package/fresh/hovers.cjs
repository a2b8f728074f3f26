/** Prints what TypeScript's language service says of the fields that a handler uses; fails if it says nothing. */
const { writeFileSync } = require('node:fs');
const ts = require('typescript');

const file = `${process.cwd()}/hovers.ts`;
const text = `import type { AdvertStatusChanged, Delivery } from 'advert-bridge-kit/subscriber';
declare const event: AdvertStatusChanged;
declare const delivery: Delivery;
event.detail.data.status;
event.detail.metadata.generation;
delivery.outcome;
`;
writeFileSync(file, text);
const options = {
  strict: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
};
const service = ts.createLanguageService({
  ...{ getCompilationSettings: () => options, getScriptFileNames: () => [file], getScriptVersion: () => '1' },
  getScriptSnapshot: (name) =>
    ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(ts.sys.readFile(name)) : undefined,
  getCurrentDirectory: () => process.cwd(),
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  ...{ fileExists: ts.sys.fileExists, readFile: ts.sys.readFile, directoryExists: ts.sys.directoryExists },
});
for (const name of ['status', 'generation', 'outcome']) {
  const info = service.getQuickInfoAtPosition(file, text.indexOf(`.${name};`) + 1);
  const shown = ts.displayPartsToString(info?.documentation);
  if (!shown) throw new Error(`nothing is shown for ${name}`);
  process.stdout.write(`${name}: ${shown.slice(0, 30)}… `);
}
