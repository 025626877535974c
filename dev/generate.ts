/**
 * `npm run generate` writes every file that is derived from another one; with `--check` it fails when a committed file differs
 * from the text that it would write.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { declarations } from '../config.ts';
import { generatedFiles, placeOf } from '../contract/generate.ts';
import type { ContractDocument } from '../contract/openapi.ts';
import { catalogues } from '../domain/language/languages.ts';
import { rulesFile } from './alerts/rules-file.ts';
import { automationsPage } from './automations-page.ts';
import { boundSections } from './bounds.ts';
import { argumentTypes, catalogueProblems, unusedKeys } from './catalogues.ts';
import { boundsPage } from './bounds-page.ts';
import { certificateLetters, certificateLettersFile } from './certificate-letters.ts';
import { chartFiles } from './chart-files.ts';
import { configurationPage, environmentExample } from './configuration-page.ts';
import { dashboardFiles } from './dashboards/files.ts';
import { importsPage, productImports } from './import-graph.ts';
import { projectDirectory } from './project.ts';
import { errorCodesPage, metricsPage } from './reference-pages.ts';
import { workflowsPage } from './workflows-page.ts';

/** @returns the text of every generated file, by its path */
async function derivedFiles(): Promise<ReadonlyMap<string, string>> {
  const ofContract = await generatedFiles();
  const contract = JSON.parse(ofContract.get('openapi.json') ?? '') as ContractDocument;
  const page = (name: string, text: string) => [path.join(projectDirectory, 'docs', 'reference', name), text] as const;
  return new Map([
    ...[...ofContract].map(([name, text]) => [placeOf(name), text] as const),
    [path.join(projectDirectory, 'domain', 'language', 'arguments.ts'), argumentTypes()] as const,
    [path.join(projectDirectory, certificateLettersFile), await certificateLetters()] as const,
    page('imports.md', importsPage(productImports(projectDirectory))),
    page('automations.md', automationsPage(contract)),
    page('bounds.md', boundsPage(boundSections)),
    page('configuration.md', configurationPage(declarations)),
    [path.join(projectDirectory, '.env.example'), environmentExample(declarations)] as const,
    ...[...chartFiles(declarations)].map(
      ([name, text]) => [path.join(projectDirectory, 'deploy', 'chart', name), text] as const,
    ),
    page('error-codes.md', errorCodesPage(contract.components.schemas.ErrorCode['x-codes'])),
    page('metrics.md', metricsPage()),
    page('workflows.md', workflowsPage()),
    [path.join(projectDirectory, 'deploy', 'prometheus', 'rules.yaml'), rulesFile()] as const,
    ...[...dashboardFiles()].map(
      ([name, text]) => [path.join(projectDirectory, 'deploy', 'grafana', name), text] as const,
    ),
  ]);
}

/** @throws Error that lists what is wrong with the message catalogues */
function requireRightCatalogues(): void {
  const problems = [
    ...Object.entries(catalogues).flatMap(([language, { messages }]) => catalogueProblems(language, messages)),
    ...unusedKeys(projectDirectory).map((key) => `No code uses the message ${key}.`),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

async function main(): Promise<void> {
  requireRightCatalogues();
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
