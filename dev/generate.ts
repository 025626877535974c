/**
 * `npm run generate` writes every file that is derived from another one; with `--check` it fails when a committed file differs
 * from the text that it would write.
 */
import '../platform/core/node-version.ts';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { generatedFiles, placeOf } from '../contract/generate.ts';
import { importsPage, productImports } from './import-graph.ts';
import { projectDirectory } from './project.ts';
import { workflowsPage } from './workflows-page.ts';

/** @returns the text of every generated file, by its path */
async function derivedFiles(): Promise<ReadonlyMap<string, string>> {
  const ofContract = [...(await generatedFiles())].map(([name, text]) => [placeOf(name), text] as const);
  const page = (name: string) => path.join(projectDirectory, 'docs', 'reference', name);
  return new Map([
    ...ofContract,
    [page('imports.md'), importsPage(productImports(projectDirectory))],
    [page('workflows.md'), workflowsPage()],
  ]);
}

async function main(): Promise<void> {
  const files = await derivedFiles();
  const drifted = [...files].filter(([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text);
  if (!process.argv.includes('--check')) {
    for (const [file, text] of drifted) writeFileSync(file, text);
  } else if (drifted.length > 0) {
    const names = drifted.map(([file]) => path.relative(projectDirectory, file));
    process.stderr.write(`These generated files are out of date: ${names.join(', ')}.\n`);
    process.stderr.write('Run `npm run generate` and commit the result.\n');
    process.exitCode = 1;
  }
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
