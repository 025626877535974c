/**
 * `npm run prove -- elsewhere` runs the unit tests in other time zones and languages. The clock of each run begins shortly before a special
 * date or hour. `-- --whole` runs all tests in two zones, at the real time, because Postgres and Temporal use the clock of the machine. The
 * last line is `places N, tests N, failed N`. A place is a zone with a language.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { projectDirectory } from '../../../dev/project.ts';
import { isQuick, isUnitTest, reaches, testFiles } from '../../run/files.ts';
import { committedDurations } from '../../run/timings.ts';

interface Place {
  /** The reason why programs often fail at the time `at`. The proof prints this reason. */
  why: string;
  zone: string;
  locale: string;
  /** The time at which the run begins. */
  at: string;
}

/** The languages differ in their rules for capital letters, in decimal marks and in the format of dates. */
const places: readonly Place[] = [
  {
    why: 'the hour that is skipped in a night of March',
    zone: 'Europe/Berlin',
    locale: 'de_DE',
    at: '2027-03-28T00:59:55Z',
  },
  {
    why: 'the hour that happens twice in a night of October',
    zone: 'Europe/Berlin',
    locale: 'de_DE',
    at: '2027-10-31T00:59:55Z',
  },
  { why: 'summer time of half an hour', zone: 'Australia/Lord_Howe', locale: 'en_AU', at: '2027-10-02T15:29:55Z' },
  { why: 'a day that begins at 1:00', zone: 'Africa/Cairo', locale: 'ar_EG', at: '2027-04-29T21:59:55Z' },
  { why: 'the end of 29 February', zone: 'America/Sao_Paulo', locale: 'pt_BR', at: '2028-03-01T02:59:55Z' },
  { why: '29 February, under a Turkish locale', zone: 'Europe/Istanbul', locale: 'tr_TR', at: '2028-02-28T20:59:55Z' },
  {
    why: 'the first zone with the new year',
    zone: 'Pacific/Kiritimati',
    locale: 'ja_JP',
    at: '2027-12-31T09:59:55Z',
  },
  { why: 'the last zone with the new year', zone: 'Pacific/Pago_Pago', locale: 'hi_IN', at: '2028-01-01T10:59:55Z' },
  {
    why: 'the first of a month, at an offset of 45 minutes',
    zone: 'Asia/Kathmandu',
    locale: 'ne_NP',
    at: '2027-01-31T18:14:55Z',
  },
];
/** `--whole` runs all tests in two of the places: one with Turkish rules for capital letters, and one with the largest offset from UTC. */
const wholePlaces = places.filter(({ zone }) => zone === 'Europe/Istanbul' || zone === 'Pacific/Kiritimati');

/** These tests need the real clock, because OpenSSL compares certificates with this clock, and files get their dates from it. */
const needsRealClock = [
  'dev/stack/certificates.ts',
  'test/toolkit/fakes/tls-receiver.ts',
  'test/dev/bootstrap.test.ts',
];

const { values } = parseArgs({ options: { whole: { type: 'boolean' } } });
const isWhole = values.whole === true;
let [tests, failed] = [0, 0];
for (const place of isWhole ? wholePlaces : places) {
  process.stdout.write(`${place.zone}, ${place.locale}: ${isWhole ? 'all tests' : `${place.at}, ${place.why}`}\n`);
  const result = isWhole ? run(place, []) : run(place, ['--unit', ...unitTests()], Date.parse(place.at) - Date.now());
  process.stdout.write(`  ${result.passed} passed, ${result.failed} failed\n`);
  if (result.failed > 0) process.stdout.write(result.output);
  tests += result.passed + result.failed;
  failed += result.failed;
}
process.stdout.write(`places ${isWhole ? wholePlaces.length : places.length}, tests ${tests}, failed ${failed}\n`);
process.exitCode = failed > 0 ? 1 : 0;

function unitTests(): string[] {
  const [stack, clock] = [new Map<string, boolean>(), new Map<string, boolean>()];
  return testFiles().filter(
    (file) => isQuick(file, committedDurations()) && isUnitTest(file, stack) && !reaches(file, needsRealClock, clock),
  );
}

/** A run without a closing line counts as one failure. */
function run({ zone, locale }: Place, args: readonly string[], offsetMs = 0) {
  const preload = (file: string) => `--import ${pathToFileURL(path.join(projectDirectory, file)).href}`;
  const { stdout } = spawnSync(process.execPath, ['--import', './platform/load.mjs', 'test/run/main.ts', ...args], {
    cwd: projectDirectory,
    encoding: 'utf8',
    maxBuffer: 1_000_000_000,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      TZ: zone,
      LC_ALL: `${locale}.UTF-8`,
      ...(offsetMs !== 0 && { CLOCK_OFFSET_MS: String(offsetMs), NODE_OPTIONS: preload('test/run/shifted-clock.mjs') }),
    },
  });
  const [, passed = '0', notPassed = '1'] = /(\d+) passed, (\d+) failed[^\n]*\n*$/.exec(stdout) ?? [];
  return { passed: Number(passed), failed: Number(notPassed), output: stdout };
}
