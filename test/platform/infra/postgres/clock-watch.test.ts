import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { pino } from 'pino';
import { projectDirectory } from '../../../../dev/project.ts';
import { clockOffsetMs, watchClock } from '../../../../platform/infra/postgres/checks/clock-watch.ts';
import type { Queries } from '../../../../platform/infra/postgres/database.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

function postgresAt() {
  const postgres = { ms: 0, isAway: false };
  const one = () =>
    postgres.isAway ? Promise.reject(new Error('Postgres is away.')) : Promise.resolve({ ms: postgres.ms });
  return { postgres, db: { one } as unknown as Pick<Queries, 'one'> };
}

describe('the clock of a process compared with the clock of Postgres (DEC-99)', () => {
  const offsets: [string, { askedAt: number; postgres: number; answeredAt: number; offset: number }][] = [
    ['both clocks show the same time', { askedAt: 5_000, postgres: 5_000, answeredAt: 5_000, offset: 0 }],
    [
      'Postgres reads its clock at the start of a slow answer',
      { askedAt: 5_000, postgres: 5_001, answeredAt: 95_000, offset: 0 },
    ],
    [
      'Postgres reads its clock at the end of a slow answer',
      { askedAt: 5_000, postgres: 94_999, answeredAt: 95_000, offset: 0 },
    ],
    [
      'only Postgres shows fractions of a millisecond',
      { askedAt: 5_000, postgres: 5_000.9, answeredAt: 5_000, offset: 0 },
    ],
    ['the process is ahead', { askedAt: 5_000, postgres: 4_000, answeredAt: 5_020, offset: 1_000 }],
    ['the process is behind', { askedAt: 5_000, postgres: 6_020, answeredAt: 5_020, offset: -1_000 }],
  ];
  for (const [name, { askedAt, postgres: ms, answeredAt, offset }] of offsets) {
    it(`differs by ${offset} ms if ${name}`, async () => {
      const times = [askedAt, answeredAt];
      const clock = () => times.shift() ?? Number.NaN;
      expect(await clockOffsetMs(() => Promise.resolve({ ms }), clock)).to.equal(offset);
    });
  }

  it('counts as right within 60 s of Postgres’s clock', async () => {
    const { postgres, db } = postgresAt();
    const lines: { level: number; msg: string; offset_seconds: number }[] = [];
    const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]) });
    const now = 1_800_000_000_000;
    postgres.ms = now;
    const watch = watchClock(db, log, () => now);
    const readings: boolean[] = [];
    try {
      for (const ms of [now, now - 60_000, now - 60_001, now + 60_000, now + 60_001, undefined, now]) {
        postgres.isAway = ms === undefined;
        postgres.ms = ms ?? now;
        await watch.ask();
        readings.push(watch.isRight());
      }
    } finally {
      watch.stop();
    }
    expect(readings).to.deep.equal([true, true, false, true, false, false, true]);
    const advice = 'at most 60 s are tolerated. Set both clocks, for example by NTP.';
    expect(lines.map(({ level, offset_seconds, msg }) => [level, offset_seconds, msg])).to.deep.equal([
      [50, 60.001, `The clock of this process is 61 s ahead of Postgres's; ${advice}`],
      [30, -60, 'the clock is right again'],
      [50, -60.001, `The clock of this process is 61 s behind Postgres's; ${advice}`],
      [30, 0, 'the clock is right again'],
    ]);
  });

  it('ends a starting process if the two clocks differ by an hour', async function () {
    this.timeout(60_000);
    const preloads = ['./test/run/shifted-clock.mjs', './platform/load.mjs'].flatMap((file) => ['--import', file]);
    await testDatabase();
    const ended: unknown = await promisify(execFile)(process.execPath, [...preloads, 'api/server.ts'], {
      cwd: projectDirectory,
      timeout: 50_000,
      env: {
        ...process.env,
        API_PORT: '0',
        API_METRICS_PORT: '0',
        FILES_PORT: '0',
        CLOCK_OFFSET_MS: String(3_600_000),
      },
    }).catch((error: unknown) => error);
    expect(ended).to.have.property('code', 1);
    expect(ended)
      .to.have.property('stderr')
      .that.matches(
        /^The process cannot start: The clock of this process is 3\d{3} s ahead of Postgres's; at most 60 s are tolerated\. Set both clocks, for example by NTP\.\n$/,
      );
  });
});
