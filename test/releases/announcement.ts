/** Finds the changes that a release makes besides its recording: the new version in all files, and a new section of the changelog. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Problem } from '../../dev/problem.ts';

/** A file of the checkout, with its complete new text. */
interface Change {
  file: string;
  text: string;
}

/** The heading in the changelog above the entries of the next release. */
const unreleased = '## Unreleased\n';

/**
 * Returns the changes, and writes no file.
 * @param directory the checkout @param version such as 1.2.3 @param today such as 2026-11-26
 * @throws Problem if the version is older than the version in package.json, or if the changelog has no unreleased entries
 */
export function announcement(directory: string, version: string, today: string): Change[] {
  const read = (file: string) => readFileSync(path.join(directory, file), 'utf8');
  const manifest = read('package.json');
  const { version: own } = JSON.parse(manifest) as { version: string };
  if (version.localeCompare(own, 'en', { numeric: true }) < 0)
    throw new Problem(`package.json has version ${own}: a release has this version, or a later one.`);
  const chart = 'deploy/chart/Chart.yaml';
  const sdk = 'sdk/package.json';
  return [
    { file: 'CHANGELOG.md', text: released(read('CHANGELOG.md'), version, today) },
    { file: 'package.json', text: manifest.replace(`"version": "${own}"`, `"version": "${version}"`) },
    { file: 'package-lock.json', text: lockOf(read('package-lock.json'), version) },
    ...(existsSync(path.join(directory, sdk)) ? [{ file: sdk, text: manifestOf(sdk, read(sdk), version) }] : []),
    ...(existsSync(path.join(directory, chart)) ? [{ file: chart, text: chartOf(chart, read(chart), version) }] : []),
  ];
}

/** Moves the entries of “Unreleased” to a new section with the version as its heading. */
function released(changelog: string, version: string, today: string): string {
  const begin = changelog.indexOf(unreleased);
  if (begin === -1) throw new Problem('CHANGELOG.md has no heading “## Unreleased”.');
  const text = begin + unreleased.length;
  const end = changelog.indexOf('\n## ', text);
  const lines = changelog.slice(text, end === -1 ? undefined : end).trim();
  if (lines === '')
    throw new Problem(
      'CHANGELOG.md has nothing below “## Unreleased”: say there what changes for callers and for operators.',
    );
  const rest = end === -1 ? '' : changelog.slice(end);
  return `${changelog.slice(0, text)}\n## ${version} (${today})\n\n${lines}\n${rest}`;
}

function lockOf(text: string, version: string): string {
  const lock = JSON.parse(text) as { version: string; packages: Record<string, { version?: string }> };
  const own = lock.packages[''];
  if (!own) throw new Problem('package-lock.json does not name the project: run npm install.');
  lock.version = version;
  own.version = version;
  return `${JSON.stringify(lock, null, 2)}\n`;
}

/** The SDK has the version of the service from whose contract it is generated (SDK-8). */
function manifestOf(file: string, text: string, version: string): string {
  const [line] = /^ {2}"version": ".*",$/m.exec(text) ?? [];
  if (line === undefined) throw new Problem(`${file} must have a line with its version.`);
  return text.replace(line, `  "version": "${version}",`);
}

/** The chart gets the same version as the application that the chart installs. */
function chartOf(file: string, text: string, version: string): string {
  const lines = text.match(/^(?:version|appVersion): .*$/gm) ?? [];
  if (lines.length !== 2) throw new Problem(`${file} must have a line “version: …” and a line “appVersion: …”.`);
  return text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`);
}
