/**
 * `npm run mutate -- webhooks …`: changes the pure rules of these contexts, one place at a time, and looks whether a unit test
 * notices. Without a name, those of all. What no test notices is printed; the last line is
 * `mutants N, killed N, survived N, score 0.NN`, and the exit code 1 where the score is below the aim.
 */
import path from 'node:path';
import type { LogLevel, MutantResult } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { messageOf, Problem, runScript, say } from '../../dev/problem.ts';
import { mutationTargets, type Target } from './targets.ts';

const aim = 0.9;

await runScript(async () => {
  const names = process.argv.slice(2);
  const targets = mutationTargets();
  const unknown = names.filter((name) => !targets.some((target) => target.name === name));
  if (unknown.length > 0)
    throw new Problem(`No rules in ${unknown.join(', ')}. There are: ${targets.map(({ name }) => name).join(', ')}.`);
  let all: MutantResult[] = [];
  let unreached = 0;
  for (const target of targets) {
    if (names.length > 0 && !names.includes(target.name)) continue;
    if (target.tests.length === 0) {
      say(`${target.name}: no unit test reaches its rules (${target.sources.length} files)`);
      unreached += target.sources.length;
      continue;
    }
    const results = await mutate(target).catch((error: unknown) => {
      throw new Problem(
        `${target.name}: ${messageOf(error)} Its tests have to pass before anything is changed: npm run test:unit.`,
      );
    });
    for (const line of results.filter(isSurvivor).map(lineOf)) say(line);
    say(`${target.name}: ${closingLine(results)}`);
    all = [...all, ...results];
  }
  say(closingLine(all));
  return scoreOf(all) < aim || unreached > 0 ? 1 : 0;
});

function mutate({ sources, tests }: Target): Promise<MutantResult[]> {
  return new Stryker({
    mutate: [...sources],
    testFiles: [...tests],
    // The strings of a rule are the names of a union, which its types check, or words for people.
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'our-mocha',
    plugins: [path.join(import.meta.dirname, 'mocha-runner.ts')],
    ignorePatterns: ['/.data', '/coverage', '/bench'],
    tempDirName: '.data/mutation',
    cleanTempDir: 'always',
    reporters: ['progress-append-only'],
    disableTypeChecks: false, // nothing checks them
    warnings: false,
    // oxlint-disable-next-line no-unsafe-enum-assignment -- a const enum, of which nothing is left to import
    logLevel: 'error' as LogLevel,
  }).runMutationTest();
}

/** A change with which the files do not load tells nothing. One that is left out says why beside its place. */
function isCounted({ status }: MutantResult): boolean {
  return !['RuntimeError', 'CompileError', 'Ignored'].includes(status);
}

function isKilled({ status }: MutantResult): boolean {
  return status === 'Killed' || status === 'Timeout';
}

function isSurvivor(result: MutantResult): boolean {
  return isCounted(result) && !isKilled(result);
}

function scoreOf(results: readonly MutantResult[]): number {
  const counted = results.filter(isCounted);
  return counted.length === 0 ? 1 : counted.filter(isKilled).length / counted.length;
}

function closingLine(results: readonly MutantResult[]): string {
  const [killed, survived] = [results.filter(isKilled).length, results.filter(isSurvivor).length];
  return `mutants ${killed + survived}, killed ${killed}, survived ${survived}, score ${scoreOf(results).toFixed(2)}`;
}

/** `domain/webhooks/deliveries/schedule.policy.ts:69:7 ConditionalExpression: false`, and whether a test gets there at all. */
function lineOf({ fileName, location: { start }, mutatorName, replacement, status }: MutantResult): string {
  const file = path.relative(process.cwd(), fileName);
  const text = (replacement ?? '').replace(/\s+/g, ' ').slice(0, 80);
  return `  ${file}:${start.line}:${start.column} ${mutatorName}: ${text}${status === 'NoCoverage' ? ' (no test gets there)' : ''}`;
}
