/**
 * `npm run prove -- NAME …` runs one of the proofs that take too long for `npm test`. Without a name, the command prints a table of the
 * proofs. It passes later arguments to the proof: `npm run prove -- faults webhooks`.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { requireComponents } from '../../dev/components.ts';
import { projectDirectory } from '../../dev/project.ts';
import { proofs, proofTable } from './names.ts';

const [name = '', ...args] = process.argv.slice(2);
const proof = Object.hasOwn(proofs, name) ? proofs[name] : undefined;
if (proof) {
  await requireComponents();
  const script = path.join(projectDirectory, proof.script);
  process.argv = [process.execPath, script, ...args];
  await import(pathToFileURL(script).href);
} else {
  if (name !== '') process.stderr.write(`There is no proof ${name}.\n`);
  process.stdout.write(proofTable());
  process.exitCode = name === '' ? 0 : 2;
}
