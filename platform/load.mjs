/**
 * Loads our TypeScript; every process begins with it: `node --import ./platform/load.mjs worker/main.ts`. Node strips the
 * types by itself. What it cannot run are the decorators of the entities: they are translated here. What was translated
 * and what V8 has compiled is kept in node_modules/.cache, where that can be written: a worker then loads in a third of
 * the time.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// Without `import.meta.main`, which came with Node 24.2, a program would load and do nothing.
if (typeof nodeModule.registerHooks !== 'function' || typeof import.meta.main !== 'boolean') {
  process.stderr.write(
    `Node ${process.versions.node} is too old: this needs Node 24.2 or newer. npm installs one: node_modules/.bin/node.\n`,
  );
  process.exit(1);
}

const entities = new URL('../entities/', import.meta.url).href;
const cache = fileURLToPath(new URL('../node_modules/.cache/club-learning/', import.meta.url));
const require = createRequire(import.meta.url);

nodeModule.enableCompileCache(path.join(cache, 'compiled'));
nodeModule.registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(entities) || !url.endsWith('.ts')) return nextLoad(url, context);
    const text = readFileSync(fileURLToPath(url), 'utf8');
    if (!/^@Entity\b/m.test(text)) return nextLoad(url, context);
    return { format: 'module', source: translated(text), shortCircuit: true };
  },
});

/** The JavaScript of an entity, from the cache if it has been translated before. */
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
    useDefineForClassFields: false, // a column without a value is absent, and not undefined
  };
  return ts.transpileModule(text, { compilerOptions }).outputText;
}

/** Writes the file atomically. */
function keep(file, text) {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, text);
    renameSync(draft, file);
  } catch {
    // Where nothing can be written, it is translated at each start.
  }
}
