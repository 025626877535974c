/**
 * `npm run prove -- elsewhere`: the unit tests at other times and places: each runs in a time zone and a language, and some seconds before
 * what is awkward there. `-- --whole` runs all tests so, in the zones and languages alone: Postgres and Temporal have the machine's
 * clock. Ends with `places N, tests N, failed N`.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { projectDirectory } from '../../../dev/project.ts';
import { isQuick, isUnitTest, reaches, testFiles } from '../../run/files.ts';
import { committedDurations } from '../../run/timings.ts';

interface Place {
  /** What is awkward about it. */
  why: string;
  zone: string;
  locale: string;
  /** When the run begins. */
  at: string;
}

/** With capital letters, commas and dates that are written otherwise. */
const places: readonly Place[] = [
  { why: 'the hour that a night in March lacks', zone: 'Europe/Berlin', locale: 'de_DE', at: '2027-03-28T00:59:55Z' },
  {
    why: 'the hour that a night in October has twice',
    zone: 'Europe/Berlin',
    locale: 'de_DE',
    at: '2027-10-31T00:59:55Z',
  },
  { why: 'half an hour of summer time', zone: 'Australia/Lord_Howe', locale: 'en_AU', at: '2027-10-02T15:29:55Z' },
  { why: 'a day that begins at one', zone: 'Africa/Cairo', locale: 'ar_EG', at: '2027-04-29T21:59:55Z' },
  { why: '29 February, and its end', zone: 'America/Sao_Paulo', locale: 'pt_BR', at: '2028-03-01T02:59:55Z' },
  { why: '29 February, under a Turkish locale', zone: 'Europe/Istanbul', locale: 'tr_TR', at: '2028-02-28T20:59:55Z' },
  {
    why: 'the turn of the year, first of all',
    zone: 'Pacific/Kiritimati',
    locale: 'ja_JP',
    at: '2027-12-31T09:59:55Z',
  },
  { why: 'the turn of the year, last of all', zone: 'Pacific/Pago_Pago', locale: 'hi_IN', at: '2028-01-01T10:59:55Z' },
  { why: 'the turn of a month, 45 minutes off', zone: 'Asia/Kathmandu', locale: 'ne_NP', at: '2027-01-31T18:14:55Z' },
];
/** Of these, `--whole` runs all tests: a language whose letters change otherwise, and the zone that is furthest off. */
const wholePlaces = places.filter(({ zone }) => zone === 'Europe/Istanbul' || zone === 'Pacific/Kiritimati');

/** Certificates are checked by OpenSSL, which has the machine's clock, and files have its dates. */
const ofTheMachine = ['dev/stack/certificates.ts', 'test/toolkit/fakes/tls-receiver.ts', 'test/dev/bootstrap.test.ts'];

const { values } = parseArgs({ options: { whole: { type: 'boolean' } } });
const isWhole = values.whole === true;
let [tests, failed] = [0, 0];
for (const place of isWhole ? wholePlaces : places) {
  process.stdout.write(`${place.zone}, ${place.locale}: ${isWhole ? 'all tests' : `${place.at}, ${place.why}`}\n`);
  const ended = isWhole ? run(place, []) : run(place, ['--unit', ...unitTests()], Date.parse(place.at) - Date.now());
  process.stdout.write(`  ${ended.passed} passed, ${ended.failed} failed\n`);
  if (ended.failed > 0) process.stdout.write(ended.output);
  tests += ended.passed + ended.failed;
  failed += ended.failed;
}
process.stdout.write(`places ${isWhole ? wholePlaces.length : places.length}, tests ${tests}, failed ${failed}\n`);
process.exitCode = failed > 0 ? 1 : 0;

function unitTests(): string[] {
  const [stack, clock] = [new Map<string, boolean>(), new Map<string, boolean>()];
  return testFiles().filter(
    (file) => isQuick(file, committedDurations()) && isUnitTest(file, stack) && !reaches(file, ofTheMachine, clock),
  );
}

/** @returns what the closing line says; a run without one has failed */
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
