/** Only relays of the current build may claim facts and wakes. */
import { expect } from 'chai';
import { newId } from '../../../platform/core/ids.ts';
import { claimFacts } from '../../../platform/engine/facts.ts';
import { forgetReleases, isPromoted, makeCurrent } from '../../../platform/engine/releases.ts';
import { claimWakes } from '../../../platform/engine/wakes.ts';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { roomFor, useRelayQueue, wakeOf } from '../../toolkit/drive/relay-queue.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../toolkit/drive/races.ts';

const club = newId();
const [old, next] = [
  { version: '0.3.0', buildId: 'old' },
  { version: '0.4.0', buildId: 'next' },
];

describe('claims of facts and wakes (ENG-19)', () => {
  const { source, transaction, record, wakeNow, notifications } = useRelayQueue();
  beforeEach('remove the current build', () => source().query('TRUNCATE releases'));

  const promote = (build: typeof old) => transaction((tx) => makeCurrent(tx, build));
  async function claimedBy(buildId: string | undefined): Promise<number[]> {
    await source().query('TRUNCATE facts, wakes');
    for (let count = 0; count < 2; count++) await record(club);
    await wakeNow(wakeOf(newId(), club), wakeOf(newId(), club));
    const claims = [
      await claimFacts(source(), { ...roomFor(10), buildId }),
      await claimWakes(source(), { ...roomFor(10), buildId }),
    ];
    return claims.map(({ length }) => length);
  }

  it('are allowed to every relay while no build is current', async () => {
    expect([await claimedBy(undefined), await claimedBy('old')]).to.deep.equal([
      [2, 2],
      [2, 2],
    ]);
  });

  it('are allowed only to the current build', async () => {
    await promote(old);
    expect([await claimedBy('old'), await claimedBy('next')]).to.deep.equal([
      [2, 2],
      [0, 0],
    ]);
    await promote(next);
    expect([await claimedBy('old'), await claimedBy('next')]).to.deep.equal([
      [0, 0],
      [2, 2],
    ]);
    await promote(old);
    expect([await claimedBy('old'), await claimedBy('next')]).to.deep.equal([
      [2, 2],
      [0, 0],
    ]);
  });

  it('are refused to a process from a checkout while a build is current', async () => {
    await promote(old);
    expect(await claimedBy(undefined)).to.deep.equal([0, 0]);
  });

  it('begin immediately after the promotion of a build', async () => {
    const before = notifications();
    await promote(old);
    expect(notifications()).to.equal(before + 1);
  });

  it('are allowed to the later of two concurrently promoted builds', async () => {
    await promote(old);
    let second: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => makeCurrent(tx, next),
      async () => {
        second = promote({ version: '0.5.0', buildId: 'third' });
        await untilWaitingForLocks(1);
      },
    );
    await second;
    const rows = await source().query<unknown[]>('SELECT build_id FROM releases WHERE is_current');
    expect(rows).to.deep.equal([{ build_id: 'third' }]);
  });
});

describe('a build', () => {
  const { source, transaction } = useRelayQueue();
  const db = () => new Queries(source().manager);
  const promote = (build: typeof old) => transaction((tx) => makeCurrent(tx, build));
  beforeEach('remove the current build', () => source().query('TRUNCATE releases'));

  const before = new Date(0);
  const later = new Date('2999-01-01');
  const promoted = async (since: Date) => [await isPromoted(db(), 'old', since), await isPromoted(db(), 'next', since)];

  it('counts as promoted while it is current', async () => {
    expect(await promoted(before)).to.deep.equal([false, false]);
    await promote(old);
    expect([await promoted(before), await promoted(later)]).to.deep.equal([
      [true, false],
      [true, false],
    ]);
    expect(await promote(next)).to.deep.equal(old);
    expect([await promoted(before), await promoted(later)]).to.deep.equal([
      [true, true],
      [false, true],
    ]);
    await forgetReleases(db(), ['old', 'next']);
    expect(await promoted(before)).to.deep.equal([false, true]);
  });

  it('counts as promoted in a checkout only while no build is current', async () => {
    expect(await isPromoted(db(), undefined, before)).to.equal(true);
    await promote(old);
    expect(await isPromoted(db(), undefined, before)).to.equal(false);
  });
});
