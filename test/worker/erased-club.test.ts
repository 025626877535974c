/**
 * Tests that only ids remain after the erasure of a club, in every table, in Temporal, in the logs and in the buckets. Another club keeps
 * every row, object and answer.
 */
import { retentionActivities } from '../../activities/retention.ts';
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { NativeConnection } from '@temporalio/worker';
import { expect } from 'chai';
import { readConfig } from '../../config.ts';
import { objectPrefixes } from '../../domain/erasures/clubs/objects.ts';
import type { ErasureCounts } from '../../entities/erasures/erasure.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { workflowTypeNames, workflowTypes, type WorkflowType } from '../../platform/engine/workflow-types.ts';
import { clientConfig } from '../../platform/infra/store/object-store.ts';
import { createWorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { addFurtherStates } from '../releases/further-states.ts';
import { ask, differences, questionsAbout } from '../releases/reads.ts';
import { rowsOfClubs } from '../toolkit/assert/club-rows.ts';
import { keptOfClub, needlesIn, tracesInTables, type Needles } from '../toolkit/assert/traces.ts';
import { buildClubErasure } from '../toolkit/builders/erasures.ts';
import { buildFurnishedClub, type FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { until } from '../toolkit/drive/until.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../toolkit/stack/storage.ts';
import { useTemporal, useWorkerProcesses, type WorkerProcess } from '../toolkit/stack/worker.ts';

const second = 1_000;
const day = 86_400 * second;

/** A worker changes these rows of every club, and the test itself opens sessions. */
const changing: readonly string[] = ['facts', 'student_sessions', 'wakes'];

/** These answers contain the time, a new cursor, or the sessions and entries that the questions themselves cause. */
const changingAnswers: readonly string[] = [
  'listAuditLog',
  'listEvents',
  'listOwnSessions',
  'previewCampaign',
  'previewContrastingCopies',
];

interface Remains {
  rows: Record<string, string[]>;
  objects: string[];
  answers: unknown[];
  runs: number;
}

describe('the erasure of a club', function () {
  this.timeout(60 * second);
  // Runs of other queues stay open until they are terminated, because this worker does not serve them.
  const startWorker = useWorkerProcesses('upkeep');
  const temporal = useTemporal();

  const clubTypes = workflowTypeNames.filter(
    (type) => type !== 'clubErasure' && 'ClubId' in workflowTypes[type].attributes,
  );
  let served: ServedApp;
  let club: FurnishedClub;
  let other: FurnishedClub;
  let worker: WorkerProcess;
  let questions: ReturnType<typeof questionsAbout>;
  let needles: Needles;
  let earlier: { other: Remains; runs: number; traces: string[]; uploads: string[] };
  let later: { other: Remains; traces: string[]; keys: string[]; uploads: string[]; counts: ErasureCounts };

  before('erase one of two clubs', async function () {
    this.timeout(240 * second);
    served = await serveApp({});
    const source = await testDatabase();
    club = await buildFurnishedClub();
    await addFurtherStates(source); // adds rows of this club in further tables and states
    await adoptOrphans(club.id);
    other = await buildFurnishedClub();
    questions = questionsAbout(other).filter(({ operation }) => !changingAnswers.includes(operation));
    for (const { id } of [club, other]) {
      await fillBuckets(id);
      await parkDeliveries(id);
      await openRuns(id);
    }
    // The upkeep of the worker would change both clubs, for example by processing old files.
    const { retain } = retentionActivities({ ...(await testDeps()), storage: await testObjectStore() });
    while ((await retain(Date.now())).more);
    needles = {
      'id of the club': club.id,
      'id of a student': club.student.id,
      'id of a course': club.records.course,
      'id of an endpoint': club.records.endpoint,
      'id of a delivery': club.records.webhookDelivery,
      'id of a file': club.records.file,
      'code of a link': club.records.linkCode,
    };
    earlier = {
      other: await remainsOf(other),
      runs: await runningOf(club.id),
      traces: await tracesInTables(needles),
      uploads: await openUploads(club.id),
    };

    await buildClubErasure(club.id, { requestedAt: new Date(Date.now() - 14 * day), erasesAt: new Date(Date.now()) });
    worker = await startWorker({ LOG_LEVEL: 'debug' });
    await wakeErasure();
    await until('the first erasure of objects', { timeoutMs: 60 * second }, async () => {
      const { status, looksAt } = await readErasure();
      return status === 'objects' && (looksAt?.getTime() ?? 0) > Date.now() + 60 * second;
    });
    // An upload that began before the closing arrives late. The club was closed long ago, so that no further upload can arrive.
    await (await testBucket()).store(`media/${club.id}/late`, Buffer.from('late'));
    await source.query(
      `UPDATE erasures SET closed_at = closed_at - interval '3 days', looks_at = now() WHERE subject_id = $1`,
      [club.id],
    );
    await wakeErasure();
    await until('the end of the erasure', { timeoutMs: 60 * second }, async () => {
      return (await readErasure()).status === 'completed';
    });
    await until('the end of its run', { timeoutMs: 20 * second }, async () => (await runningOf(club.id)) === 0);
    await until('the end of all wakes', { timeoutMs: 20 * second }, async () => {
      const wakes = await source.query<unknown[]>('SELECT FROM wakes WHERE club_id = $1', [club.id]);
      return wakes.length === 0;
    });
    later = {
      other: await remainsOf(other),
      traces: (await tracesInTables(needles)).filter((trace) => !trace.startsWith('erasures.')),
      keys: (await (await testBucket()).everyVersion()).filter((key) => key.includes(club.id)),
      uploads: await openUploads(club.id),
      counts: (await readErasure()).counts,
    };
  });

  /** Copied rows of tables without a foreign key to clubs have a random club, which does not exist. */
  async function adoptOrphans(clubId: Id): Promise<void> {
    const source = await testDatabase();
    for (const { tableName, columns } of source.entityMetadatas)
      if (columns.some(({ databaseName }) => databaseName === 'club_id'))
        await source
          .query(`UPDATE "${tableName}" SET club_id = $1 WHERE club_id NOT IN (SELECT id FROM clubs)`, [clubId])
          // The club already has its only row of this table.
          .catch(() => source.query(`DELETE FROM "${tableName}" WHERE club_id NOT IN (SELECT id FROM clubs)`));
  }

  /** Stores an object with two versions under each prefix, and begins an upload that never ends. */
  async function fillBuckets(clubId: Id): Promise<void> {
    const bucket = await testBucket();
    const { privateBucket, publicBucket } = readConfig().storage;
    for (const { prefix, bucket: kind } of objectPrefixes(clubId))
      for (const content of ['first', 'second'])
        await bucket.store(`${prefix}file`, Buffer.from(content), kind === 'public' ? publicBucket : privateBucket);
    const client = new S3Client(clientConfig(readConfig().storage));
    await client.send(new CreateMultipartUploadCommand({ Bucket: privateBucket, Key: `media/${clubId}/unfinished` }));
    client.destroy();
  }

  async function openUploads(clubId: Id): Promise<string[]> {
    const client = new S3Client(clientConfig(readConfig().storage));
    const { Uploads = [] } = await client.send(
      new ListMultipartUploadsCommand({ Bucket: readConfig().storage.privateBucket, Prefix: `media/${clubId}/` }),
    );
    client.destroy();
    return Uploads.map(({ Key = '' }) => Key);
  }

  async function parkDeliveries(clubId: Id): Promise<void> {
    const source = await testDatabase();
    await source.query(
      `INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, status, next_attempt_at, created_at, parked_at)
       SELECT overlay(id::text PLACING 'ffff' FROM 20)::uuid, club_id, endpoint_id, event_id, event_type, student_id, 'pending', now() + interval '1 day', created_at, now()
         FROM webhook_deliveries WHERE club_id = $1 LIMIT 1`,
      [clubId],
    );
  }

  /** Starts a run of each type that follows rows of clubs, on a queue without a worker. */
  async function openRuns(clubId: Id): Promise<void> {
    const { address, namespace } = readConfig().temporal;
    const connection = await NativeConnection.connect({ address });
    const workflows = createWorkflowClient(connection, namespace);
    for (const type of clubTypes) {
      const subjectId = (await subjectOf(type, clubId)) ?? newId();
      if (workflowTypes[type].taskQueue === 'upkeep') await startUnserved(type, clubId, subjectId);
      else await workflows.signalWithStart({ workflowType: type, subjectId, clubId, attributes: { ClubId: clubId } });
    }
    await connection.close();
    await until('the list of the runs', { timeoutMs: 30 * second }, async () => {
      return (await runningOf(clubId)) === clubTypes.length;
    });
  }

  async function startUnserved(type: WorkflowType, clubId: Id, subjectId: string): Promise<void> {
    await temporal().workflow.start(type, {
      workflowId: `${workflowTypes[type].id}/${subjectId}`,
      taskQueue: 'imports',
      args: [subjectId],
      searchAttributes: { ClubId: [clubId] },
    });
  }

  async function subjectOf(type: WorkflowType, clubId: Id): Promise<string | undefined> {
    const source = await testDatabase();
    const { entity, key } = workflowTypes[type];
    const { tableName, columns } = source.getMetadata(entity);
    const column = columns.find(({ propertyName }) => propertyName === key)?.databaseName;
    const [row] = await source.query<{ key: string }[]>(
      `SELECT "${column}"::text AS key FROM "${tableName}" WHERE club_id = $1 LIMIT 1`,
      [clubId],
    );
    return row?.key;
  }

  async function runningOf(clubId: Id): Promise<number> {
    const { count } = await temporal().workflow.count(`ClubId = '${clubId}' AND ExecutionStatus = 'Running'`);
    return count;
  }

  async function wakeErasure(): Promise<void> {
    const { db } = await testDeps();
    await db.transaction((tx) => wake(tx, 'clubErasure', [{ subjectId: club.id, clubId: club.id }], new Date()));
  }

  async function readErasure(): Promise<{ status: string; looksAt: Date | null; counts: ErasureCounts }> {
    const source = await testDatabase();
    const [row] = await source.query<{ status: string; looksAt: Date | null; counts: ErasureCounts }[]>(
      `SELECT status, looks_at AS "looksAt", counts FROM erasures WHERE subject_id = $1`,
      [club.id],
    );
    if (!row) throw new Error('The erasure has no row.');
    return row;
  }

  async function remainsOf({ id }: FurnishedClub): Promise<Remains> {
    const rows = await rowsOfClubs(id);
    for (const table of changing) delete rows[table];
    const now = new Date();
    const answers: unknown[] = [];
    for (const question of questions) {
      const { status, answer } = await ask(served.base, question, now);
      answers.push({ ...question, status, answer });
    }
    return {
      rows,
      objects: (await (await testBucket()).everyVersion()).filter((key) => key.includes(id)),
      answers,
      runs: await runningOf(id),
    };
  }

  it('erases rows of every kind that a furnished club has', () => {
    expect(Object.keys(later.counts.tables ?? {}).length).to.be.greaterThan(80);
  });

  it('leaves no id of the club in any table except erasures', () => {
    expect(earlier.traces.length).to.be.greaterThan(50);
    expect(later.traces).to.deep.equal([]);
  });

  it('leaves no object of the club in any bucket except its marker', () => {
    expect(later.keys.filter((key) => !key.startsWith('erasures/'))).to.deep.equal([]);
  });

  it('ends unfinished uploads', () => {
    expect(earlier.uploads).to.deep.equal([`media/${club.id}/unfinished`]);
    expect(later.uploads).to.deep.equal([]);
  });

  it('counts the objects of each bucket and the runs', () => {
    const { buckets, runs } = later.counts;
    expect(buckets?.['public']).to.be.at.least(2);
    expect(buckets?.['private']).to.be.at.least(5);
    expect(runs).to.be.at.least(earlier.runs); // the sweeper starts runs meanwhile
  });

  it('terminates open runs of every type', () => {
    expect(earlier.runs).to.equal(clubTypes.length);
  });

  it('leaves only ids in the histories of runs', async () => {
    const { text, runs } = await keptOfClub(temporal(), club.id);
    expect(runs).to.be.greaterThan(clubTypes.length);
    expect(needlesIn(text, words())).to.deep.equal([]);
  });

  it('writes only ids to the logs', () => {
    expect(needlesIn(worker.log(), words())).to.deep.equal([]);
  });

  const words = (): Needles => ({
    'address of a student': club.student.email,
    'code of a link': club.records.linkCode,
  });

  it('leaves every row of another club', () => {
    const missing = Object.entries(earlier.other.rows).flatMap(([table, rows]) => {
      const now = new Set(later.other.rows[table]);
      return rows.filter((row) => !now.has(row)).map((row) => `${table}: ${row}`);
    });
    expect(missing).to.deep.equal([]);
  });

  it('leaves every object of another club', () => {
    expect(earlier.other.objects.length).to.be.at.least(6);
    expect(later.other.objects).to.deep.equal(earlier.other.objects);
  });

  it('leaves every run of another club', () => {
    expect(later.other.runs).to.be.at.least(clubTypes.length); // the sweeper starts more
  });

  it('changes no answer about another club', () => {
    expect(earlier.other.answers.length).to.be.greaterThan(50);
    const changed = earlier.other.answers.flatMap((answer, index) => differences(answer, later.other.answers[index]));
    expect(changed).to.deep.equal([]);
  });
});
