/** Tests the steps of the erasure of a club, with the real database and bucket, and without Temporal. */
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { contextsInLockOrder } from '../../../domain/contexts.ts';
import { beginClubErasureAgain } from '../../../domain/erasures/begin-again.ts';
import { erasureRules, stepClubErasure, type ClubErasureDeps } from '../../../domain/erasures/step.ts';
import type { ErasureStatus } from '../../../entities/erasures/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { wakesOf } from '../../toolkit/assert/wakes.ts';
import { buildAddOn, buildPlan } from '../../toolkit/builders/billing.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import { testObjectStore } from '../../toolkit/stack/storage.ts';

const day = 86_400_000;
const arrivalMs = day;

describe('a step of the erasure of a club', () => {
  let clubId: Id;
  let runs: string[][];
  let deps: ClubErasureDeps;
  beforeEach('build a club', async () => {
    clubId = (await buildClub()).id;
    runs = [];
    const { db, vault } = await testDeps();
    deps = {
      db,
      vault,
      storage: await testObjectStore(),
      closers: [],
      clubRows: contextsInLockOrder.flatMap((context) => context.clubRows),
      terminateRuns: async () => runs.shift() ?? [],
      arrivalMs,
      failpoint: async () => {},
    };
  });

  interface Row {
    status: ErasureStatus;
    looks_at: Date | null;
    reminded_at: Date | null;
    closed_at: Date | null;
    counts: { tables?: Record<string, number>; runs?: number; buckets?: Record<string, number> };
  }

  async function plan(columns: Partial<Record<keyof Row | 'erases_at', unknown>>, now: Date): Promise<void> {
    const row = { status: 'planned', looks_at: now, erases_at: now, ...columns };
    const names = Object.keys(row);
    const source = await testDatabase();
    await source.query(
      `INSERT INTO erasures (id, kind, subject_id, club_id, requested_at, ${names.join(', ')})
       VALUES ($1, 'club', $2, $2, $3, ${names.map((_, index) => `$${index + 4}`).join(', ')})`,
      [newId(), clubId, now, ...Object.values(row)],
    );
  }

  async function read(): Promise<Row> {
    const source = await testDatabase();
    const [row] = await source.query<Row[]>('SELECT * FROM erasures WHERE subject_id = $1', [clubId]);
    if (!row) throw new Error('The erasure has no row.');
    return row;
  }

  const now = new Date();
  const after = (ms: number) => new Date(now.getTime() + ms);

  it('waits for the reminder', async () => {
    await plan({ erases_at: after(14 * day) }, now);
    expect(await stepClubErasure(deps, clubId, now.getTime())).to.deep.include({
      done: false,
      status: 'planned',
      at: after(11 * day).getTime(),
    });
  });

  it('waits for the beginning after the reminder', async () => {
    await plan({ erases_at: after(3 * day) }, now);
    const next = await stepClubErasure(deps, clubId, now.getTime());
    expect(next).to.deep.include({ status: 'planned', at: after(3 * day).getTime() });
    expect((await read()).reminded_at).to.deep.equal(now);
  });

  it('does not begin while the club pays for a plan that it bought after the request', async () => {
    await plan({ erases_at: now, reminded_at: now }, now);
    await buildPlan(clubId, 'starter', { subscription_id: `sub_${clubId}`, customer_id: `cus_${clubId}` });
    const next = await stepClubErasure(deps, clubId, now.getTime());
    expect(next).to.deep.include({ status: 'planned', at: after(day).getTime() });
    await buildPlan(clubId, 'starter', { status: 'canceled' });
    expect(await stepClubErasure(deps, clubId, after(day).getTime())).to.deep.include({ status: 'closing' });
  });

  it('does not begin while an add-on of the club is being charged', async () => {
    await plan({ erases_at: now, reminded_at: now }, now);
    const addOn = await buildAddOn(clubId);
    const next = await stepClubErasure(deps, clubId, now.getTime());
    const later = new Date(now.getTime() + 5 * 60_000);
    expect(next).to.deep.include({ status: 'planned', at: later.getTime() });
    const source = await testDatabase();
    await source.query(`UPDATE add_ons SET status = 'failed', settled_at = now() WHERE id = $1`, [addOn.id]);
    expect(await stepClubErasure(deps, clubId, later.getTime())).to.deep.include({ status: 'closing' });
  });

  it('loses its lease if erase-again begins the planned erasure meanwhile', async () => {
    await plan({ erases_at: after(14 * day) }, now);
    const source = await testDatabase();
    const columns = 'status, looks_at, fence, lease_until';
    await source.query(
      `UPDATE erasures SET fence = 7, lease_until = now() + interval '1 minute' WHERE subject_id = $1`,
      [clubId],
    );
    expect(await beginClubErasureAgain(deps.db, clubId, now)).to.equal(true);
    const rows = await source.query<unknown[]>(`SELECT ${columns} FROM erasures WHERE subject_id = $1`, [clubId]);
    expect(rows).to.deep.equal([{ status: 'closing', looks_at: now, fence: 8, lease_until: null }]);
    expect((await wakesOf(clubId)).map(({ workflowId }) => workflowId)).to.include(workflowIdOf('clubErasure', clubId));
  });

  it('lets no member leave between the reading of the addresses and the reminder', async () => {
    await plan({ erases_at: after(3 * day) }, now);
    const source = await testDatabase();
    const other = source.createQueryRunner();
    await other.startTransaction();
    await other.query('SELECT FROM clubs WHERE id = $1 FOR NO KEY UPDATE', [clubId]);
    const step = stepClubErasure(deps, clubId, now.getTime());
    await other.query('DELETE FROM memberships WHERE club_id = $1', [clubId]);
    await setTimeout(300);
    await other.commitTransaction();
    await other.release();
    await step;
    const mails = await source.query<unknown[]>('SELECT FROM transactional_mails WHERE club_id = $1', [clubId]);
    expect(mails).to.have.length(0);
  });

  it('ends if the erasure was canceled', async () => {
    expect(await stepClubErasure(deps, clubId, now.getTime())).to.deep.equal({ done: true, outcome: 'canceled' });
  });

  it('closes the club, and asks each context again while more is left', async () => {
    let calls = 0;
    const closers = [async () => ({ more: ++calls < 3 })];
    await plan({ status: 'closing' }, now);
    await stepClubErasure({ ...deps, closers }, clubId, now.getTime());
    expect(calls).to.equal(3);
    const source = await testDatabase();
    const [club] = await source.query<{ erasing_at: Date | null }[]>('SELECT erasing_at FROM clubs WHERE id = $1', [
      clubId,
    ]);
    expect(club?.erasing_at).to.not.equal(null);
    expect(await read()).to.deep.include({ status: 'rows', closed_at: now });
  });

  it('erases rows until a whole pass finds none', async () => {
    await plan({ status: 'rows', closed_at: now }, now);
    const first = await stepClubErasure(deps, clubId, now.getTime());
    expect(first).to.deep.include({ done: false, status: 'rows' });
    const source = await testDatabase();
    await source.query(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at) VALUES ($1, $2, 'student.created', $1, now())`,
      [newId(), clubId],
    );
    expect(await stepClubErasure(deps, clubId, now.getTime())).to.deep.include({ status: 'rows' });
    expect(await stepClubErasure(deps, clubId, now.getTime())).to.deep.include({ status: 'runs' });
    expect((await read()).counts.tables).to.include({ clubs: 1, facts: 1 });
  });

  it('terminates runs until two looks find none', async () => {
    await plan({ status: 'runs', closed_at: now }, now);
    runs = [[`bulk-job/${newId()}`], [], [`bulk-job/${newId()}`]];
    await stepClubErasure(deps, clubId, now.getTime());
    const look = await stepClubErasure(deps, clubId, now.getTime());
    expect(look).to.deep.include({ status: 'runs', at: after(erasureRules.lookMs).getTime() });
    await stepClubErasure(deps, clubId, after(erasureRules.lookMs).getTime());
    await stepClubErasure(deps, clubId, after(erasureRules.lookMs).getTime());
    const last = await stepClubErasure(deps, clubId, after(2 * erasureRules.lookMs).getTime());
    expect(last).to.deep.include({ status: 'objects', runs: 2 });
  });

  it('deletes the recorded faults of terminated runs', async () => {
    await plan({ status: 'runs', closed_at: now }, now);
    const [ended, others] = [`bulk-job/${newId()}`, `bulk-job/${newId()}`];
    const source = await testDatabase();
    for (const id of [ended, others])
      await source.query(`INSERT INTO failing_steps VALUES ($1, 'bulkJob', 1, 'Error', now(), now())`, [id]);
    runs = [[ended]];
    await stepClubErasure(deps, clubId, now.getTime());
    const remaining = await source.query<{ workflow_id: string }[]>(
      'SELECT workflow_id FROM failing_steps WHERE workflow_id = ANY ($1)',
      [[ended, others]],
    );
    expect(remaining).to.deep.equal([{ workflow_id: others }]);
  });

  it('erases objects again until no upload can arrive, and then completes', async () => {
    const { storage } = deps;
    const store = (key: string) => storage.put(key, 'text/plain', Readable.from([Buffer.from('words')]));
    const keys = ['media/', 'public/', 'certificates/', 'student-imports/', 'exports/', 'mail/'].map(
      (prefix) => `${prefix}${clubId}/${newId()}`,
    );
    for (const key of keys) await store(key);
    const foreign = `media/${newId()}/file`;
    await store(foreign);
    await plan({ status: 'objects', closed_at: now }, now);
    const source = await testDatabase();
    await source.query('DELETE FROM memberships WHERE club_id = $1', [clubId]);
    const first = await stepClubErasure(deps, clubId, now.getTime());
    expect(first).to.deep.include({ status: 'objects', at: after(erasureRules.secondPassMs).getTime(), objects: 6 });
    for (const key of keys) expect(await storage.size(key), key).to.equal(undefined);
    await store(keys[0] ?? '');
    const second = await stepClubErasure(deps, clubId, after(erasureRules.secondPassMs).getTime());
    expect(second).to.deep.include({ status: 'objects', at: after(arrivalMs).getTime(), objects: 7 });
    await stepClubErasure(deps, clubId, after(arrivalMs).getTime()); // erases the rows that were left
    expect(await stepClubErasure(deps, clubId, after(arrivalMs).getTime())).to.deep.equal({
      done: true,
      outcome: 'completed',
    });
    expect((await read()).counts.buckets).to.deep.equal({ private: 5, public: 2 });
    expect(await storage.size(foreign)).to.equal(5);
  });

  it('waits for a row that another worker has leased', async () => {
    await plan({ status: 'rows', closed_at: now }, now);
    const source = await testDatabase();
    await source.query(
      `UPDATE erasures SET lease_until = clock_timestamp() + interval '1 minute' WHERE subject_id = $1`,
      [clubId],
    );
    const next = await stepClubErasure(deps, clubId, now.getTime());
    expect(!next.done && (next.at ?? 0) > now.getTime()).to.equal(true);
  });
});
