/**
 * Counts the habits of habits.ts, and lowers the allowances in allowances.json to the counts; `npm run generate` starts it. An allowance can
 * only shrink, and a new file has none. With `--check`, as in `npm run check`, it fails if the count of a file differs from its allowance.
 * With paths of files or folders it lists each occurrence instead: `npm run check -- words domain/mail`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../project.ts';
import { placesIn, type Place } from './places.ts';

const allowancesFile = new URL('allowances.json', import.meta.url);

type Allowances = Record<string, number>;

/**
 * Generated files, the published texts of the contract, old entries of the changelog, texts in other languages or of a corpus, and the
 * examples of these habits.
 */
const exempt =
  /^(?:contract\/|sdk\/src\/generated\/|docs\/reference\/(?:imports|bounds|configuration|error-codes|metrics|workflows|automations)\.md$|domain\/language\/catalogues\/|domain\/learning\/certificates\/letters\/printed-code-points|dev\/words\/|test\/dev\/words|test\/releases\/recorded|test\/replay\/histories|bench\/retrieval\/(?:material|questions|scripts)|entities\/migrations\/|CHANGELOG\.md$)/;

function countedFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: projectDirectory,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((file) => file !== '' && !exempt.test(file) && existsSync(path.join(projectDirectory, file)));
}

const placesOf = (file: string): Place[] => placesIn(file, readFileSync(path.join(projectDirectory, file), 'utf8'));

function main(options: readonly string[]): void {
  const isCheck = options.includes('--check');
  const paths = options.filter((option) => !option.startsWith('--'));
  if (paths.length > 0) return list(paths);
  const allowances = existsSync(allowancesFile)
    ? (JSON.parse(readFileSync(allowancesFile, 'utf8')) as Allowances)
    : undefined;
  const counts = new Map(
    countedFiles()
      .map((file) => [file, placesOf(file).length] as const)
      .filter(([, count]) => count > 0),
  );
  const faults = [...counts]
    .filter(([file, count]) => allowances && count > (allowances[file] ?? 0))
    .map(
      ([file, count]) =>
        `${file} has ${count} hard sentences or names, and may have ${allowances?.[file] ?? 0}. See: npm run check -- words ${file}`,
    );
  const lowered = Object.fromEntries(
    [...counts]
      .map(([file, count]) => [file, Math.min(count, allowances ? (allowances[file] ?? 0) : count)] as const)
      .filter(([, count]) => count > 0)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const text = `${JSON.stringify(lowered, null, 2)}\n`;
  if (!isCheck) writeFileSync(allowancesFile, text);
  else if (faults.length === 0 && text !== readFileSync(allowancesFile, 'utf8'))
    faults.push('Fewer hard sentences are left than allowances.json says. Run npm run generate.');
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (!isCheck) process.stdout.write(`${total} hard sentences or names in ${counts.size} files\n`);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

function list(paths: readonly string[]): void {
  for (const file of countedFiles().filter((one) =>
    paths.some((given) => one === given || one.startsWith(`${given.replace(/\/$/, '')}/`)),
  ))
    for (const { line, habit, excerpt } of placesOf(file))
      process.stdout.write(`${file}:${line}: ${habit.name}: ${excerpt}\n`);
}

main(process.argv.slice(2));
