/**
 * `npm run prove -- mutate webhooks …`: changes the pure rules of these contexts, one place at a time, and looks whether a unit test
 * notices. Without a name, those of all. What no test notices is printed; the last line is
 * `mutants N, killed N, survived N, score 0.NN`, and the exit code 1 where the score is below the aim, or a change hangs.
 *
 * `npm run prove -- mutate statements`, or one of them by name, changes claims, records, authorization and pricing, which hang on Postgres:
 * their tests run with the stack, and take seconds a change. `--sample N` tries N of each, spread evenly over its files.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { LogLevel, MutantResult } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { messageOf, Problem, runScript, say } from '../../../dev/problem.ts';
import { lineOfChange } from './statement-changes.ts';
import { aboutHung, mutationLine, resultOf, shareOf, tallyOf, type MutationTally } from './tally.ts';
import { mutationTargets, statementTargets, type Target } from './targets.ts';

const aim = 0.9;

await runScript(async () => {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { sample: { type: 'string' } } });
  const rules = mutationTargets();
  const known = [...rules, ...statementTargets].map(({ name }) => name);
  const unknown = positionals.filter((name) => name !== 'statements' && !known.includes(name));
  if (unknown.length > 0)
    throw new Problem(`No rules in ${unknown.join(', ')}. There are: ${[...known, 'statements'].join(', ')}.`);
  const sample = values.sample === undefined ? undefined : Number(values.sample);
  if (sample !== undefined && !(Number.isInteger(sample) && sample > 0))
    throw new Problem(`--sample ${values.sample} is no number of changes: give one of 1 or more.`);
  const isWanted = ({ name }: Target) => positionals.includes(name);
  const wantedRules = positionals.length === 0 ? rules : rules.filter(isWanted);
  const wantedStatements = positionals.includes('statements') ? statementTargets : statementTargets.filter(isWanted);

  const tallies: MutationTally[] = [];
  for (const target of wantedRules) tallies.push(await tallyOfRules(target));
  if (wantedStatements.length > 0) {
    const { tryStatements } = await import('./statement-runs.ts');
    await tryStatements(wantedStatements, sample, ({ name }, tried) => {
      const tally = tallyOf(tried.map((one) => ({ result: one.result, line: lineOfChange(one) })));
      tallies.push(tally);
      say(`${name}: ${mutationLine([tally])}`);
    });
  }
  const hung = tallies.flatMap((tally) => tally.hung);
  say(mutationLine(tallies));
  if (hung.length > 0) throw new Problem(aboutHung(hung));
  return shareOf(tallies) < aim ? 1 : 0;
});

/** Rules that no test reaches count as one survivor a file. */
async function tallyOfRules(target: Target): Promise<MutationTally> {
  const { name, sources, tests } = target;
  if (tests.length === 0) {
    say(`${name}: no unit test reaches its rules (${sources.length} files)`);
    return { killed: 0, survived: sources.length, hung: [] };
  }
  const results = await mutate(target).catch((error: unknown) => {
    throw new Problem(
      `${name}: ${messageOf(error)} Its tests have to pass before anything is changed: npm test -- --unit.`,
    );
  });
  const tried = results.map((one) => ({ result: resultOf(one), line: lineOf(one) }));
  for (const { line } of tried.filter(({ result }) => result === 'survived')) say(line);
  const tally = tallyOf(tried);
  say(`${name}: ${mutationLine([tally])}`);
  return tally;
}

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

/** `domain/webhooks/deliveries/schedule.policy.ts:69:7 ConditionalExpression: false`, and whether a test gets there at all. */
function lineOf({ fileName, location: { start }, mutatorName, replacement, status }: MutantResult): string {
  const file = path.relative(process.cwd(), fileName);
  const text = (replacement ?? '').replace(/\s+/g, ' ').slice(0, 80);
  return `  ${file}:${start.line}:${start.column} ${mutatorName}: ${text}${status === 'NoCoverage' ? ' (no test gets there)' : ''}`;
}
