/** Lists the files that `npm run prove -- mutate` changes, and the tests that must fail after a change. */
import fs, { readFileSync } from 'node:fs'; // an older Node has no globSync, and must still print the message about its version
import path from 'node:path';
import { projectDirectory } from '../../../dev/project.ts';
import { isQuick, isUnitTest, testFiles } from '../../run/files.ts';
import { committedDurations } from '../../run/timings.ts';

export interface Target {
  name: string;
  /** The files to change, and the tests that may kill the mutants; paths from the directory of the project. */
  sources: readonly string[];
  tests: readonly string[];
}

/** @returns one target for each folder with pure rules (`*.policy.ts`) */
export function mutationTargets(): Target[] {
  const importsOf = importGraph();
  const tests = testFiles();
  const unitTestCache = new Map<string, boolean>();
  const durations = committedDurations();
  // The tests run again for each change, so slow tests would take hours. They are excluded, except tests of pure rules
  // (`*.policy.test.ts`).
  const isFastEnough = (file: string) => file.endsWith('.policy.test.ts') || isQuick(file, durations);
  const units = new Set(tests.filter((file) => isFastEnough(file) && isUnitTest(file, unitTestCache)));
  const byName = Object.groupBy(policies(), nameOf);
  return Object.entries(byName).map(([name, sources = []]) => {
    const ruleFiles = new Set(sources);
    const isNear = (file: string) => importsOf(file).some((imported) => ruleFiles.has(imported));
    const isOfFolder = (file: string) => nameOf(file.slice('test/'.length)) === name;
    return {
      name,
      sources,
      tests: tests.filter(
        (file) => units.has(file) && (isNear(file) || (isOfFolder(file) && reaches(importsOf, file, ruleFiles))),
      ),
    };
  });
}

/**
 * The targets of `npm run prove -- mutate statements`: claims, records, authorization and pricing, which contain or need statements of
 * Postgres. The cheapest tests are first, because a trial ends at the first failed test.
 */
export const statementTargets: readonly Target[] = [
  {
    name: 'leases',
    sources: ['platform/engine/lease.ts'],
    tests: ['test/platform/engine/lease.test.ts', 'test/domain/knowledge/indexing/source-step.test.ts'],
  },
  {
    name: 'webhook-claims',
    sources: ['domain/webhooks/attempts/attempt.ts', 'domain/webhooks/attempts/claims.ts'],
    tests: [
      'test/domain/webhooks/deliveries/direct.test.ts',
      'test/worker/claims-in-advance.test.ts',
      'test/worker/attempts-at-once.test.ts',
      'test/domain/webhooks/deliveries/manual.test.ts',
      'test/domain/webhooks/deliveries/attempts-claim.test.ts',
      'test/domain/webhooks/deliveries/races-record.test.ts',
      'test/domain/webhooks/deliveries/attempts.test.ts',
    ],
  },
  {
    name: 'webhook-records',
    sources: [
      'domain/webhooks/attempts/record-failure.ts',
      'domain/webhooks/attempts/record-rows.ts',
      'domain/webhooks/attempts/record-success.ts',
    ],
    tests: [
      'test/domain/webhooks/deliveries/record.test.ts',
      'test/domain/webhooks/deliveries/record-together.test.ts',
      'test/domain/webhooks/deliveries/direct.test.ts',
      'test/api/webhook-failing.test.ts',
      'test/domain/webhooks/deliveries/manual.test.ts',
      'test/domain/webhooks/deliveries/attempts-claim.test.ts',
      'test/domain/webhooks/deliveries/races-record.test.ts',
      'test/domain/webhooks/deliveries/post-record.test.ts',
      'test/domain/webhooks/deliveries/attempts.test.ts',
    ],
  },
  {
    name: 'authorization',
    sources: [
      'domain/identity/sessions/sessions.ts',
      'domain/identity/sessions/session-finder.ts',
      'api/middleware/session.ts',
    ],
    tests: [
      'test/domain/identity/sessions.test.ts',
      'test/api/session.test.ts',
      'test/api/http.test.ts',
      'test/api/authorization.test.ts',
    ],
  },
  {
    name: 'pricing',
    sources: ['domain/agents/budget/budget.ts', 'domain/agents/conversations/limits.ts'],
    tests: [
      'test/domain/agents/budget/budget.test.ts',
      'test/api/ai-budget.test.ts',
      'test/api/agent-limits.test.ts',
      'test/domain/agents/prompt/prompt.policy.test.ts',
    ],
  },
];

function policies(): string[] {
  return fs.globSync('{api,domain,platform}/**/*.policy.ts', { cwd: projectDirectory }).toSorted();
}

/** Returns the name of the target: `webhooks` for `domain/webhooks/…`, and `platform` for `platform/…`. */
function nameOf(file: string): string {
  const [topFolder = '', context = ''] = file.split('/');
  return topFolder === 'domain' ? context : topFolder;
}

type Imports = (file: string) => readonly string[];

/** Reads each file only once. */
function importGraph(): Imports {
  const known = new Map<string, readonly string[]>();
  return (file) => {
    const before = known.get(file);
    if (before) return before;
    const text = readFileSync(path.join(projectDirectory, file), 'utf8');
    const imports = [...text.matchAll(/\bfrom '(\.[^']+\.ts)'/g)]
      .map(([, target = '']) => path.posix.join(path.posix.dirname(file), target))
      .filter((target) => fs.existsSync(path.join(projectDirectory, target)));
    known.set(file, imports);
    return imports;
  };
}

function reaches(importsOf: Imports, file: string, targets: ReadonlySet<string>): boolean {
  const visited = new Set([file]);
  for (const one of visited)
    for (const imported of importsOf(one)) {
      if (targets.has(imported)) return true;
      visited.add(imported);
    }
  return false;
}
