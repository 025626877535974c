import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { attemptDelivery } from '../../../domain/webhooks/attempts/attempt.ts';
import { startsOf } from '../../toolkit/drive/facts.ts';
import { fanOutFacts } from '../../../domain/webhooks/events/fan-out.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { claimFacts, recordFact, removeFacts } from '../../../platform/engine/facts.ts';
import { turnFromAnywhere } from '../../../platform/engine/turns.ts';
import { claimWakes, removeWake, wakeRuns } from '../../../platform/engine/wakes.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { buildSubscription, type Subscription } from '../../toolkit/builders/webhooks.ts';
import { accepted, answering, refused } from '../../toolkit/drive/attempts.ts';
import { fakeLane } from '../../toolkit/fakes/direct-lane.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';

const tables = ['facts', 'wakes', 'webhook_events', 'webhook_deliveries', 'webhook_attempts'];

describe('commits without a wait for the disk', () => {
  let source: DataSource;
  let db: Database;
  let subscription: Subscription;

  before(
    'record at each commit whether the commit waits for the disk; the connection uses synchronous commits',
    async () => {
      const test = await testDatabase();
      await test.query(`
      CREATE TABLE noted_commits (seq serial, "table" text, operation text, waits text);
      CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO noted_commits ("table", operation, waits)
        VALUES (TG_ARGV[0], TG_OP, current_setting('synchronous_commit'));
        RETURN NULL;
      END $$`);
      for (const table of tables)
        await test.query(`
        CREATE CONSTRAINT TRIGGER note_commit AFTER INSERT OR UPDATE OR DELETE ON ${table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_commit('${table}')`);
      const { url, ...settings } = readConfig().database;
      const patient = new URL(url.reveal());
      patient.searchParams.set('options', '-c synchronous_commit=on');
      source = await createDataSource(
        { ...settings, url: new Secret(patient.href), poolSize: 1 },
        'club-test',
      ).initialize();
      db = new Database(source, { notify() {} });
      subscription = await buildSubscription('https://example.com/');
    },
  );
  beforeEach(async () => {
    const test = await testDatabase();
    for (const table of ['facts', 'wakes', 'noted_commits']) await test.query(`DELETE FROM ${table}`);
  });
  after(async () => {
    const test = await testDatabase();
    for (const table of tables) await test.query(`DROP TRIGGER note_commit ON ${table}`);
    await test.query(`DROP FUNCTION note_commit; DROP TABLE noted_commits`);
    await source.destroy();
  });

  const room = () => ({
    limit: 8,
    bulk: 8,
    perClub: 8,
    bulkPerClub: 8,
    inHand: new Map(),
    turn: turnFromAnywhere(),
  });
  /** The kinds of commits since the test began, each kind once. */
  const recordedCommits = async (): Promise<string[]> => {
    const rows = await (
      await testDatabase()
    ).query<{ commit: string }[]>(
      `SELECT lower(operation) || ' ' || "table" || ' ' || waits AS commit FROM noted_commits GROUP BY 1 ORDER BY min(seq)`,
    );
    return rows.map(({ commit }) => commit);
  };
  const recordOne = () => {
    const { clubId, studentId } = subscription;
    return db.transaction((tx) =>
      recordFact(tx, { clubId, studentId, type: 'student.updated', occurredAt: new Date() }),
    );
  };

  it('are used to lease facts, but not to write or delete facts', async () => {
    await recordOne();
    const facts = await claimFacts(source, room());
    await removeFacts(source, facts);
    expect(await recordedCommits()).to.deep.equal(['insert facts on', 'update facts off', 'delete facts on']);
  });

  it('are used to lease wakes, but not to write or delete wakes', async () => {
    const { id: subjectId } = subscription.endpoint;
    const run = { workflowType: 'endpointGate' as const, subjectId, clubId: subscription.clubId, attributes: {} };
    await db.transaction((tx) => wakeRuns(tx, [run], new Date()));
    const [wake] = await claimWakes(source, room());
    if (!wake) throw new Error('No wake was claimed.');
    await removeWake(source, wake);
    expect(await recordedCommits()).to.deep.equal(['insert wakes on', 'update wakes off', 'delete wakes on']);
  });

  for (const { lane, rows } of [
    { lane: fakeLane(), rows: ['insert webhook_attempts on', 'delete facts on'] },
    { lane: undefined, rows: [] },
  ])
    it(`are not used to fan out a fact ${lane ? 'to the direct lane' : 'to runs'}`, async () => {
      await recordOne();
      const facts = await claimFacts(source, room());
      await fanOutFacts(db, facts, new Date(), { ...(lane && { lane }) });
      expect(await recordedCommits()).to.have.members([
        'insert facts on',
        'update facts off',
        'insert webhook_events on',
        'insert webhook_deliveries on',
        ...rows,
      ]);
    });

  for (const answer of [accepted, refused])
    it(`are not used to claim an attempt or to record its outcome: ${answer.outcome}`, async () => {
      await recordOne();
      const facts = await claimFacts(source, room());
      const [result] = await fanOutFacts(db, facts, new Date());
      const [run] = startsOf(result);
      await (await testDatabase()).query(`DELETE FROM noted_commits`);
      await attemptDelivery(await answering(async () => answer, { db }), run?.subjectId ?? '', Date.now());
      expect(await recordedCommits()).to.have.members([
        'insert webhook_attempts on',
        'update webhook_deliveries on',
        'update webhook_attempts on',
      ]);
    });
});
