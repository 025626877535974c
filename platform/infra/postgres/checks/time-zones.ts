/**
 * Compares the time zones of Node and Postgres. Node decides (DEC-154), so a difference only tells operators that one of them has old
 * rules.
 */
import { withClient } from './role-limits.ts';
import { localAt } from '../../../core/time/local-time.ts';
import { isKnownHere } from '../../../core/time/time-zones.ts';
import type { DatabaseSettings } from '../../../../entities/data-source.ts';

const dayMs = 86_400_000;
/** Beyond the longest wait of an automation and the end of the next year. */
const comparedDays = 730;
/** The IANA database has fewer zones. */
const mostZones = 1_000;
/** A message only counts the other zones. */
const namedZones = 20;

/** The offset is Node's UTC offset of the zone, in seconds. */
interface Sample {
  zone: string;
  at: Date;
  offset: number;
}

/** The first compared instant with a difference. Offsets are in seconds. */
export interface Difference {
  zone: string;
  at: Date;
  here: number;
  there: number;
}

export interface ZoneReport {
  /** The clocks of people in these zones show UTC. */
  unknownHere: readonly string[];
  /** Zones in use. */
  unknownThere: readonly string[];
  differing: readonly Difference[];
}

/** @returns the differences from `now` on */
export async function compareZones(database: DatabaseSettings, now: Date): Promise<ZoneReport> {
  return withClient(
    database.url.reveal(),
    async (client) => {
      const ask = async <Row>(text: string, values: unknown[]): Promise<Row[]> =>
        (await client.query(text, values)).rows as Row[];
      const used = await ask<{ zone: string; isThere: boolean }>(
        `SELECT zone, zone IN (SELECT name FROM pg_timezone_names) AS "isThere"
           FROM (SELECT time_zone AS zone FROM clubs UNION SELECT time_zone FROM mentorships) AS used ORDER BY zone LIMIT $1`,
        [mostZones],
      );
      const unknownHere = used.filter(({ zone }) => !isKnownHere(zone)).map(({ zone }) => zone);
      const unknownThere = used.filter(({ isThere }) => !isThere).map(({ zone }) => zone);
      const differing: Difference[] = [];
      for (const { zone } of used.filter((one) => one.isThere && isKnownHere(one.zone))) {
        const samples = samplesOf(zone, now);
        const rows = await ask<{ place: number; offset: number }>(
          `SELECT place::int, extract(epoch FROM at AT TIME ZONE $1)::float8 - extract(epoch FROM at) AS offset
             FROM unnest($2::timestamptz[], $3::float8[]) WITH ORDINALITY AS sample (at, here, place)
            WHERE extract(epoch FROM at AT TIME ZONE $1)::float8 - extract(epoch FROM at) <> here ORDER BY at LIMIT 1`,
          [zone, samples.map(({ at }) => at), samples.map(({ offset }) => offset)],
        );
        const [first] = rows;
        const sample = first && samples[first.place - 1];
        if (sample) differing.push({ zone, at: sample.at, here: sample.offset, there: first.offset });
      }
      return { unknownHere, unknownThere, differing };
    },
    database.connectWithinMs,
  );
}

/**
 * One instant of each day, and the instants before and after each clock change. If Postgres changes clocks on another day or hour, an
 * offset differs there.
 */
function samplesOf(zone: string, now: Date): Sample[] {
  const end = now.getTime() + comparedDays * dayMs;
  const offsetAt = (ms: number) => localAt(zone, new Date(ms)).offsetNanoseconds / 1e9;
  const samples: Sample[] = [];
  let change = localAt(zone, now).getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity;
  let offset = offsetAt(now.getTime());
  const take = (ms: number) => samples.push({ zone, at: new Date(ms), offset });
  for (let ms = now.getTime(); ms < end; ms += dayMs) {
    while (change <= ms) {
      take(change - 1_000);
      offset = offsetAt(change);
      take(change);
      change = localAt(zone, new Date(change)).getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity;
    }
    take(ms);
  }
  return samples;
}

/** @returns the mistakes that an operator must correct */
export function mistakesIn({ unknownHere }: ZoneReport): string[] {
  if (unknownHere.length === 0) return [];
  return [
    `Node (time zones ${process.versions['tz'] ?? 'unknown'}) does not know ${listed(unknownHere)}, which clubs or mentorships use. Their days and months are counted in UTC. Run a Node version that knows these zones, or choose another zone there.`,
  ];
}

/** @returns the differences that change no result, but that an operator should know */
export function remarksOn({ unknownThere, differing }: ZoneReport): string[] {
  const remarks = differing
    .slice(0, namedZones)
    .map(
      ({ zone, at, here, there }) =>
        `${zone}: from ${at.toISOString().slice(0, 10)} on, at the latest, Node shows ${offsetText(here)}, and Postgres ${offsetText(there)}.`,
    );
  if (differing.length > namedZones) remarks.push(`${differing.length - namedZones} further zones differ.`);
  if (unknownThere.length > 0) remarks.push(`Postgres does not know ${listed(unknownThere)}.`);
  if (remarks.length === 0) return [];
  return [
    ...remarks,
    `No result depends on it: the service counts days and months by Node's zones (${process.versions['tz'] ?? 'unknown'}). Your own queries may give other results. Update the older of the two: Node with its next release, or by NODE_ICU_DATA; Postgres by the package tzdata of its machine, and a restart.`,
  ];
}

const listed = (zones: readonly string[]): string =>
  zones.length <= namedZones
    ? zones.join(', ')
    : `${zones.slice(0, namedZones).join(', ')} and ${zones.length - namedZones} more`;

/** @param offset in seconds @returns such as `UTC+5:30` */
function offsetText(offset: number): string {
  const minutes = Math.round(Math.abs(offset) / 60);
  const rest = minutes % 60;
  return `UTC${offset < 0 ? '-' : '+'}${Math.floor(minutes / 60)}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`;
}
