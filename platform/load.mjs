/**
 * Loads our TypeScript. In a checkout every process begins with it: `node --import ./platform/load.mjs main.ts worker`. Node strips the
 * types, but cannot run the decorators of the entities, so they are translated here. The translation and V8's compiled code are cached in
 * node_modules/.cache. The cache reduces the time to load a worker to a third.
 */
import { cache } from './start.mjs'; // this is the first import, so that an older Node stops with its message
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const entities = new URL('../entities/', import.meta.url).href;
const require = createRequire(import.meta.url);

nodeModule.registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(entities) || !url.endsWith('.ts')) return nextLoad(url, context);
    const text = readFileSync(fileURLToPath(url), 'utf8');
    if (!/^@Entity\b/m.test(text)) return nextLoad(url, context);
    return { format: 'module', source: translated(text), shortCircuit: true };
  },
});

/** Takes the result from the cache if the text was translated before. */
function translated(text) {
  const file = path.join(cache, 'entities', `${createHash('sha256').update(text).digest('hex')}.js`);
  try {
    return readFileSync(file, 'utf8');
  } catch {
    const javaScript = translate(text);
    keep(file, javaScript);
    return javaScript;
  }
}

function translate(text) {
  const ts = require('typescript');
  const compilerOptions = {
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    experimentalDecorators: true,
    useDefineForClassFields: false, // otherwise a column without a value would be undefined, and not absent
  };
  return ts.transpileModule(text, { compilerOptions }).outputText;
}

/** Atomically. */
function keep(file, text) {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, text);
    renameSync(draft, file);
  } catch {
    // Without the cache, the file is translated at each start.
  }
}
