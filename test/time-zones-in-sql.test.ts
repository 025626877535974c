/**
 * Tests that only Node computes local times (DEC-154), and that SQL statements get instants and dates as parameters. The time zone rules of
 * Postgres may be older, and Postgres refuses unknown time zones. A statement that computes in UTC must name UTC.
 */
import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

const searched = '{activities,api,contract,domain,entities,platform,worker,workflows,dev}/**/*.ts';
const exempt = [
  'entities/migrations/', // have run
  'platform/infra/postgres/checks/time-zones.ts', // compares both
];

/** Matches expressions that compute with a named time zone or with the time zone of the database session. */
const zoned: readonly RegExp[] = [
  /\bat\s+time\s+zone\s+(?!'UTC')/gi,
  /\btimezone\s*\(\s*(?!'UTC'|'browser')/gi, // `browser` is a setting of dashboards.
  /\bdate_trunc\s*\((?![^()]*,\s*'UTC'\s*\))/gi,
  /\bcurrent_date\b|\bcurrent_time\b(?!stamp)|\blocaltime(?:stamp)?\b/gi,
  /\b(?:now|clock_timestamp|statement_timestamp|transaction_timestamp)\s*\(\s*\)\s*::\s*(?:date|timestamp|time)\b(?!tz)/gi,
  /\bpg_timezone_(?:names|abbrevs)\b/gi,
];

function zonedIn(text: string): string[] {
  return zoned.flatMap((pattern) => [...text.matchAll(pattern)].map(([found]) => found.trim()));
}

describe('time zones in statements', () => {
  it('are never the time zone of a club or session', () => {
    const files = globSync(searched, { cwd: projectDirectory }).filter(
      (file) => !exempt.some((place) => file.startsWith(place)),
    );
    const found = files.flatMap((file) =>
      zonedIn(readFileSync(path.join(projectDirectory, file), 'utf8')).map((text) => `${file}: ${text}`),
    );
    expect(found.toSorted()).to.deep.equal([]);
  });

  it('are found in every form that SQL offers', () => {
    const statements = [
      'settled_at AT TIME ZONE club.time_zone',
      'settled_at at  time\n zone $1',
      'timezone(club.time_zone, settled_at)',
      "date_trunc('month', settled_at)",
      "date_trunc('month', settled_at, club.time_zone)",
      'WHERE day = current_date',
      'now()::date',
      'SELECT localtimestamp',
      'SELECT 1 FROM pg_timezone_names',
    ];
    expect(statements.map((text) => zonedIn(text).length > 0)).to.deep.equal(statements.map(() => true));
    const ofUtc = [
      "at AT TIME ZONE 'UTC'",
      "date_trunc('hour', at, 'UTC')",
      "date_trunc(span, at, 'UTC')",
      'current_timestamp',
      'now()::timestamptz',
    ];
    expect(ofUtc.flatMap(zonedIn)).to.deep.equal([]);
  });
});
