/**
 * Judges new regular expressions, and stores the linear ones in verdicts.json. `npm run generate` starts it. `--check`, in `npm run check`,
 * fails if a pattern is not judged. `--all` judges all patterns again, which takes minutes: `npm run check -- patterns --all`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { projectDirectory } from '../project.ts';
import { productFiles } from '../generators/import-graph.ts';
import { patternsOfProduct, type Pattern } from './collect.ts';
import { exceptions, madeAtRunTime } from './exceptions.ts';
import { faultOf } from './judge.ts';

const verdictsFile = new URL('verdicts.json', import.meta.url);

interface Verdicts {
  checker: string;
  /** The patterns are written as in code. */
  linear: string[];
}

const written = ({ source, flags }: Pattern) => `/${source}/${flags}`;

async function main(options: readonly string[]): Promise<void> {
  const { patterns, runtimePatterns } = patternsOfProduct(projectDirectory, productFiles(projectDirectory));
  const checker = `recheck ${checkerVersion()}`;
  const known = new Set(options.includes('--all') ? [] : linearBefore(checker));
  const byText = new Map(
    patterns.flatMap((pattern) => (exceptions.has(written(pattern)) ? [] : [[written(pattern), pattern] as const])),
  );
  const faults = runtimePatterns
    .filter(({ place, code }) => !madeAtRunTime.has(`${place.split(':')[0]}: ${code}`))
    .map(({ place, code }) => `${place}: ${code} is composed at run time. Write the pattern as a literal.`);
  const unknown = [...byText].filter(([text]) => !known.has(text));
  if (options.includes('--check')) {
    const isStale = [...known].some((text) => !byText.has(text));
    for (const [text, { place }] of unknown)
      faults.push(`${place}: ${text} has not been judged. Run npm run generate.`);
    if (isStale) faults.push('dev/patterns/verdicts.json has patterns that no longer exist. Run npm run generate.');
  } else {
    for (const [text, pattern] of unknown) {
      const fault = await faultOf(pattern);
      if (fault === undefined) known.add(text);
      else faults.push(`${pattern.place}: ${text}: ${fault}`);
    }
    const linear = [...byText.keys()].filter((text) => known.has(text)).toSorted();
    writeFileSync(verdictsFile, `${JSON.stringify({ checker, linear } satisfies Verdicts, null, 2)}\n`);
  }
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

/** @returns the patterns that are known to be linear; none if another version of the checker judged them */
function linearBefore(checker: string): string[] {
  if (!existsSync(verdictsFile)) return [];
  const verdicts = JSON.parse(readFileSync(verdictsFile, 'utf8')) as Verdicts;
  return verdicts.checker === checker ? verdicts.linear : [];
}

function checkerVersion(): string {
  const settings = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { devDependencies } = JSON.parse(settings) as { devDependencies: Record<string, string> };
  return devDependencies['recheck'] ?? '';
}

await main(process.argv.slice(2));
