/**
 * `npm run prove -- mutate webhooks …` changes the pure rules of the named contexts, one change at a time. After each change it checks
 * whether a unit test fails. Without a name, it changes the rules of all contexts. It prints each change for which no test fails. The last
 * line is `mutants N, killed N, survived N, score 0.NN`. The exit code is 1 if the score is lower than required, or if a change hangs.
 *
 * `npm run prove -- mutate statements` changes claims, records, authorization and pricing, which need Postgres. The name of one target in
 * place of `statements` limits the changes to that target. The tests of these changes run with the stack and take seconds for each change.
 * `--sample N` tries N changes of each target, spread evenly over its files.
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
    throw new Problem(`--sample must be a whole number from 1, not ${values.sample}`);
  const isNamed = ({ name }: Target) => positionals.includes(name);
  const chosenRules = positionals.length === 0 ? rules : rules.filter(isNamed);
  const chosenStatements = positionals.includes('statements') ? statementTargets : statementTargets.filter(isNamed);

  const tallies: MutationTally[] = [];
  for (const target of chosenRules) tallies.push(await tallyOfRules(target));
  if (chosenStatements.length > 0) {
    const { tryStatements } = await import('./statement-runs.ts');
    await tryStatements(chosenStatements, sample, ({ name }, tried) => {
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

/**
 * Tries the changes of one target. If no test reaches the rules of the target, each file of the target counts as one change that no test
 * noticed.
 */
async function tallyOfRules(target: Target): Promise<MutationTally> {
  const { name, sources, tests } = target;
  if (tests.length === 0) {
    say(`${name}: no unit test reaches its rules (${sources.length} files)`);
    return { killed: 0, survived: sources.length, hung: [] };
  }
  const results = await mutate(target).catch((error: unknown) => {
    throw new Problem(`${name}: ${messageOf(error)} Its tests must pass without changes: npm test -- --unit.`);
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
    // Strings in a rule are members of a union, which the compiler checks, or texts for people.
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'our-mocha',
    plugins: [path.join(import.meta.dirname, 'mocha-runner.ts')],
    ignorePatterns: ['/.data', '/coverage', '/bench'],
    tempDirName: '.data/mutation',
    cleanTempDir: 'always',
    reporters: ['progress-append-only'],
    disableTypeChecks: false, // the mutants are not type-checked
    warnings: false,
    // oxlint-disable-next-line no-unsafe-enum-assignment -- a const enum cannot be imported
    logLevel: 'error' as LogLevel,
  }).runMutationTest();
}

/** Formats a mutant: `domain/webhooks/deliveries/schedule.policy.ts:69:7 ConditionalExpression: false`, and whether a test reaches it. */
function lineOf({ fileName, location: { start }, mutatorName, replacement, status }: MutantResult): string {
  const file = path.relative(process.cwd(), fileName);
  const text = (replacement ?? '').replace(/\s+/g, ' ').slice(0, 80);
  return `  ${file}:${start.line}:${start.column} ${mutatorName}: ${text}${status === 'NoCoverage' ? ' (no test reaches it)' : ''}`;
}
