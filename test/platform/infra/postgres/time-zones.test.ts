import { expect } from 'chai';
import { readConfig } from '../../../../config.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import {
  compareZones,
  mistakesIn,
  remarksOn,
  type ZoneReport,
} from '../../../../platform/infra/postgres/checks/time-zones.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

const tz = process.versions['tz'];
const advice = `No result depends on it: the service counts days and months by Node's zones (${tz}). Your own queries may give other results. Update the older of the two: Node with its next release, or by NODE_ICU_DATA; Postgres by the package tzdata of its machine, and a restart.`;
const nothing: ZoneReport = { unknownHere: [], unknownThere: [], differing: [] };

describe('the comparison of the time zones of Node and of Postgres (DEC-154)', () => {
  /** Only these zones belong to clubs. All other clubs use UTC. */
  async function compared(zones: readonly string[], now: string): Promise<ZoneReport> {
    const source = await testDatabase();
    await source.query(`UPDATE clubs SET time_zone = 'UTC'`);
    for (const zone of zones) {
      const { id } = await buildClub();
      await source.query(`UPDATE clubs SET time_zone = $2 WHERE id = $1`, [id, zone]);
    }
    const { database } = readConfig();
    const { url } = source.options as { url: string };
    return compareZones({ ...database, url: new Secret(url) }, new Date(now));
  }

  it('reports the first instant at which Node and Postgres differ about a zone', async () => {
    // Postgres treats CET as an abbreviation without summer time.
    const { differing } = await compared(['CET', 'Asia/Tokyo'], '2026-02-10T12:00:00Z');
    expect(differing).to.deep.equal([{ zone: 'CET', at: new Date('2026-03-29T01:00:00Z'), here: 7_200, there: 3_600 }]);
  });

  it('finds no difference if Node and Postgres agree for years', async () => {
    const zones = ['Europe/Berlin', 'Australia/Lord_Howe', 'America/New_York', 'Asia/Kolkata', 'Pacific/Chatham'];
    expect(await compared(zones, '2018-02-10T12:00:00Z')).to.deep.equal(nothing);
  });

  it('distinguishes a zone that Node does not know from a zone that Postgres does not know', async () => {
    // Postgres looks for a file with the name of the zone. Node has a list of zones.
    const { unknownHere, unknownThere, differing } = await compared(['Mars/Olympus', 'UTC'], '2026-02-10T12:00:00Z');
    expect([unknownHere, unknownThere, differing]).to.deep.equal([['Mars/Olympus'], ['Mars/Olympus'], []]);
  });

  it('names at most 20 zones with a difference, and counts the others', () => {
    const at = new Date('2027-02-07T02:00:00Z');
    const one = { zone: 'Africa/Casablanca', at, here: 3_600, there: 0 };
    const line = 'Africa/Casablanca: from 2027-02-07 on, at the latest, Node shows UTC+1, and Postgres UTC+0.';
    expect(remarksOn({ ...nothing, differing: [one] })).to.deep.equal([line, advice]);
    const west = { ...one, here: -12_600, there: 20_700 };
    expect(remarksOn({ ...nothing, differing: [west] })[0]).to.match(/Node shows UTC-3:30, and Postgres UTC\+5:45\.$/);
    const many = remarksOn({ ...nothing, differing: Array.from({ length: 23 }, () => one) });
    expect(many).to.deep.equal([...Array.from({ length: 20 }, () => line), '3 further zones differ.', advice]);
    expect(remarksOn({ ...nothing, unknownThere: ['America/Coyhaique'] })).to.deep.equal([
      'Postgres does not know America/Coyhaique.',
      advice,
    ]);
    expect(remarksOn(nothing)).to.deep.equal([]);
  });

  it('reports a mistake if clubs use a zone that Node does not know', () => {
    expect(mistakesIn({ ...nothing, unknownHere: ['Mars/Olympus'] })).to.deep.equal([
      `Node (time zones ${tz}) does not know Mars/Olympus, which clubs or mentorships use. Their days and months are counted in UTC. Run a Node version that knows these zones, or choose another zone there.`,
    ]);
    expect(mistakesIn({ ...nothing, unknownThere: ['Mars/Olympus'] })).to.deep.equal([]);
  });
});
