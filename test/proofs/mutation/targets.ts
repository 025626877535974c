/** Which files `npm run prove -- mutate` changes, and which tests have to notice it. */
import fs, { readFileSync } from 'node:fs'; // globSync by its module: an older Node must get as far as its message
import path from 'node:path';
import { projectDirectory } from '../../../dev/project.ts';
import { isQuick, isUnitTest, testFiles } from '../../run/files.ts';
import { committedDurations } from '../../run/timings.ts';

export interface Target {
  /** What it is asked for by: a folder of domain/, or `platform`, or `api`. */
  name: string;
  /** Whose mutants are tried, and which tests may kill them; paths from the project's directory. */
  sources: readonly string[];
  tests: readonly string[];
}

/** @returns one for each folder that has pure rules (`*.policy.ts`) */
export function mutationTargets(): Target[] {
  const importsOf = importGraph();
  const tests = testFiles();
  const seen = new Map<string, boolean>();
  const durations = committedDurations();
  // They run again for each change: those that npm test -- --unit leaves out would take hours, but for those of the rules themselves.
  const isWanted = (file: string) => file.endsWith('.policy.test.ts') || isQuick(file, durations);
  const units = new Set(tests.filter((file) => isWanted(file) && isUnitTest(file, seen)));
  const byName = Object.groupBy(policies(), nameOf);
  return Object.entries(byName).map(([name, sources = []]) => {
    const wanted = new Set(sources);
    const isNear = (file: string) => importsOf(file).some((imported) => wanted.has(imported));
    const isOfFolder = (file: string) => nameOf(file.slice('test/'.length)) === name;
    return {
      name,
      sources,
      tests: tests.filter(
        (file) => units.has(file) && (isNear(file) || (isOfFolder(file) && reaches(importsOf, file, wanted))),
      ),
    };
  });
}

/**
 * Claims, records, authorization and pricing that are statements of Postgres, or hang on them: `npm run prove -- mutate statements`. Their
 * tests, the cheapest first: the first that fails is the last that runs.
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
    sources: ['domain/identity/sessions.ts', 'domain/identity/session-finder.ts', 'api/middleware/session.ts'],
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

/** `domain/webhooks/…` is webhooks, `platform/…` platform. */
function nameOf(file: string): string {
  const [place = '', context = ''] = file.split('/');
  return place === 'domain' ? context : place;
}

type Imports = (file: string) => readonly string[];

/** @returns what a file imports of the project, read once */
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

function reaches(importsOf: Imports, file: string, wanted: ReadonlySet<string>): boolean {
  const seen = new Set([file]);
  for (const one of seen)
    for (const imported of importsOf(one)) {
      if (wanted.has(imported)) return true;
      seen.add(imported);
    }
  return false;
}
