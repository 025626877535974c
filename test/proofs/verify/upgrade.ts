/**
 * `npm run prove -- verify upgrade` upgrades each recorded release to the current version as docs/how-to/upgrade.md says. The proof loads
 * the rows, and `migrate` of the build migrates them. Then the proof makes all rows due, and starts API and worker with a real Temporal
 * that knows no runs. Each row must end or wait for a later time, and no row may stay overdue. The workflows of the build also replay the
 * histories of the release.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Worker } from '@temporalio/worker';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { allocatorSettings } from '../../../dev/stack/allocator.ts';
import { locate } from '../../../dev/components.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { startFakeModel } from '../../../dev/fake-model/fake-model.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { startReceiver } from '../../../dev/clients/receiver.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { dueRowsOf } from '../../../platform/engine/due-rows.ts';
import { workflowTypeNames, workflowTypes, type WorkflowType } from '../../../platform/engine/workflow-types.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { sealedColumns } from '../../../platform/infra/keys/sealed-columns.ts';
import { createVault, SealUnreadable, type Vault } from '../../../platform/infra/keys/vault.ts';
import { installBuilds, type InstalledBuild } from '../faults/deploy/builds.ts';
import { startService } from '../faults/deploy/service.ts';
import { toItsEnd } from '../faults/processes.ts';
import { progress } from '../faults/progress.ts';
import { rowsThatWait } from '../faults/restore/stuck.ts';
import { readRelease, recordedVersions, releaseKey, type Release } from '../../releases/archive.ts';
import { loadDump } from '../../releases/dump.ts';
import { historyFrom } from '../../toolkit/drive/replay.ts';
import { startStripe } from '../../toolkit/fakes/stripe-server.ts';
import { quietRuntime } from '../../toolkit/stack/time-skipping.ts';
import { startStackOn, type Site } from './site.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * The time limit for the upgrade of one release. It is enough for several rounds of the sweeper and for waits of some minutes.
 */
const deadlineMs = 4 * 60_000;
/**
 * The proof waits for rows that are due within this time, such as retries. This includes rows of automations, because an hour of an
 * automation passes in a second here.
 */
const soonMs = 45_000;
const lookEveryMs = 2_000;
const looksALine = 15;
/** The proof sets due times this far into the past, so that the first round of the sweeper finds the rows. */
const overdue = sql`interval '10 minutes'`;

/** @throws Problem when a row stays overdue, or a history does not replay */
export async function verifyUpgrade(site: Site): Promise<string> {
  const { port: build } = await installBuilds(path.join(site.directory, 'builds'));
  progress(`built: ${build.buildId}`);
  const { env, receiverUrl } = await surroundings(site);
  const stuck: string[] = [];
  let replayed = 0;
  for (const version of recordedVersions()) {
    const release = readRelease(version);
    const bundle = path.join(site.directory, 'builds', build.name, 'dist', 'workflow-bundle.js');
    replayed += await replayAll(release, bundle);
    const own = { ...env, TEMPORAL_NAMESPACE: `release-${version.replaceAll('.', '-')}` };
    for (const line of await upgrade(site, { build, release, receiverUrl, env: own }))
      stuck.push(`${version}: ${line}`);
  }
  for (const line of stuck) progress(line);
  const line = `releases ${recordedVersions().length}, rows stuck ${stuck.length}, histories replayed ${replayed}`;
  if (stuck.length > 0) throw new Problem(line);
  return line;
}

/** Starts the servers that the service calls. The servers accept all mails, webhooks, questions to the model, and charges. */
async function surroundings(site: Site): Promise<{ env: Environment; receiverUrl: string }> {
  const stack = await startStackOn(site);
  const [model, stripe] = await Promise.all([startFakeModel({ delayMs: 1 }), startStripe()]);
  const receiver = await startReceiver({
    certificate: await stack.authority.issue(['127.0.0.1']),
    respond: () => ({ status: 204 }),
  });
  site.stops.push(
    () => model.stop(),
    () => stripe.stop(),
    () => receiver.stop(),
  );
  const env = {
    PATH: process.env['PATH'] ?? '',
    LOG_LEVEL: 'warn',
    ...allocatorSettings,
    ...stack.environment,
    MASTER_KEY: releaseKey,
    FFMPEG_BINARY: await locate(components.ffmpeg),
    AUTOMATION_WAIT_SPEED: '3600',
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'fake',
    STRIPE_API_URL: stripe.url,
    STRIPE_SECRET_KEY: stripe.secretKey,
  };
  return { env, receiverUrl: receiver.url };
}

interface Upgrade {
  build: InstalledBuild;
  release: Release;
  receiverUrl: string;
  env: Environment;
}

async function upgrade(site: Site, { build, release, receiverUrl, env }: Upgrade): Promise<string[]> {
  const { version } = release.summary;
  const config = readConfig(env);
  const source = await createDataSource(config.database, 'club-verify').initialize();
  await loadDump(source, release.database);
  await storeObjects(release, config.storage);
  progress(`release ${version}: its database is loaded`);
  await toItsEnd(build.run('migrate', env));
  await toItsEnd(build.run('setup', env));
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  await db.run(sql`UPDATE webhook_endpoints SET url = ${receiverUrl} || '/' || id`);
  await sealForTheirRows(db, createVault(config.masterKey));
  await makeDue(db);
  const before = await inFlight(db);

  const service = await startService(build, env, site.stops);
  await toItsEnd(build.run('promote', env));
  const lines = await untilNothingWaits(db);
  const after = await inFlight(db);
  for (const [type, { count }] of before) {
    const remaining = after.get(type);
    const waiting = remaining?.next
      ? `${remaining.count} wait for a later time, ${remaining.next.toISOString()} the first`
      : 'none is left';
    if (count > 0) progress(`${type}: ${count} were in flight, ${waiting}`);
  }
  await service.kill();
  await source.destroy();
  return lines;
}

async function storeObjects({ objects }: Release, storage: ReturnType<typeof readConfig>['storage']): Promise<void> {
  const { endpoint, region, accessKeyId, secretAccessKey, privateBucket, publicBucket } = storage;
  const credentials = { accessKeyId: accessKeyId.reveal(), secretAccessKey: secretAccessKey.reveal() };
  const s3 = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  for (const { bucket, key, base64 } of objects) {
    const Bucket = bucket === 'private' ? privateBucket : publicBucket;
    await s3.send(new PutObjectCommand({ Bucket, Key: key, Body: Buffer.from(base64, 'base64') }));
  }
  s3.destroy();
}

/**
 * Replaces sealed values that cannot be opened. The recording of a release copied some of them from other rows, and invented one. A service
 * does not start with such values.
 */
async function sealForTheirRows(db: Database, vault: Vault): Promise<void> {
  for (const { name, table, id, column } of sealedColumns) {
    const rows = await db.rows<{ id: string; sealed: Buffer }>(
      sql`SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
    );
    const opened = rows.map((row) => ({ ...row, text: textOf(vault, row) }));
    const text = opened.find((row) => row.text !== undefined)?.text;
    for (const row of opened.filter((one) => one.text === undefined)) {
      if (text === undefined)
        throw new Problem(`${name}: none of ${rows.length} values opens under the key of releases.`);
      await db.run(sql`UPDATE ${table} SET ${column} = ${vault.seal(text, row.id)} WHERE ${id} = ${row.id}`);
    }
  }
}

function textOf(vault: Vault, { id, sealed }: { id: string; sealed: Buffer }): string | undefined {
  try {
    return vault.open(sealed, id);
  } catch (error) {
    if (error instanceof SealUnreadable) return undefined;
    throw error;
  }
}

/** Makes all rows that wait for a time overdue by some minutes. */
async function makeDue(db: Database): Promise<void> {
  for (const type of workflowTypeNames)
    for (const { table, key, at, from, condition } of rowsInFlight(db.source, type))
      await db.run(sql`UPDATE ${table} SET ${at} = now() - ${overdue}
        WHERE ${key} IN (SELECT row.${key} FROM ${from} WHERE ${condition} AND row.${at} > now() - ${overdue})`);
  // The workflow of a campaign also checks the scheduled time.
  await db.run(sql`UPDATE campaigns SET scheduled_at = looks_at WHERE status = 'scheduled'`);
}

interface InFlight {
  count: number;
  next: Date | null;
}

async function inFlight(db: Database): Promise<Map<WorkflowType, InFlight>> {
  const rowsByType = new Map<WorkflowType, InFlight>();
  for (const type of workflowTypeNames) {
    // The proof uses only the first kind of due rows of a workflow type. The rows of the other kinds have ended.
    const [due] = rowsInFlight(db.source, type);
    if (!due) throw new Error(`Workflow type ${type} has no rows that become due`);
    const { from, at, condition } = due;
    const row = await db.one<InFlight>(
      sql`SELECT count(*)::int AS count, min(row.${at}) AS next FROM ${from} WHERE ${condition} AND row.${at} IS NOT NULL`,
    );
    if (row) rowsByType.set(type, row);
  }
  return rowsByType;
}

/** Returns names of columns without the name of their table, as `UPDATE` needs them. */
function rowsInFlight(source: DataSource, type: WorkflowType) {
  const { entity, key, due } = workflowTypes[type];
  const metadata = source.getMetadata(entity);
  const column = (property: string) => raw(metadata.findColumnWithPropertyName(property)?.databaseName ?? property);
  return dueRowsOf(source, type).map(({ from, condition }, index) => ({
    table: raw(metadata.tableName),
    key: column(key),
    at: column(due[index]?.at ?? ''),
    from,
    condition,
  }));
}

/** Waits until no row is overdue or due soon, or until the time limit. */
async function untilNothingWaits(db: Database): Promise<string[]> {
  const deadline = performance.now() + deadlineMs;
  for (let looks = 1; ; looks++) {
    const lines = await rowsThatWait(db.source);
    const soon = new Date(Date.now() + soonMs);
    const moving = [...(await inFlight(db))].flatMap(([type, { next }]) => (next && next < soon ? [type] : []));
    if (lines.length + moving.length === 0 || performance.now() > deadline) return lines;
    if (looks % looksALine === 0)
      progress(
        `${lines.length} rows are overdue${lines[0] ? `, such as: ${lines[0]}` : ''}; in progress: ${moving.join(', ')}`,
      );
    await sleep(lookEveryMs);
  }
}

async function replayAll({ histories, summary }: Release, bundle: string): Promise<number> {
  const all = Object.entries(histories).map(([workflowId, readable]) => ({
    workflowId,
    history: historyFrom(readable),
  }));
  quietRuntime();
  const failures: string[] = [];
  let replayed = 0;
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle: { codePath: bundle } }, all)) {
    replayed += 1;
    if (error) failures.push(`${summary.version}, ${workflowId}: ${messageOf(error)}`);
  }
  if (failures.length > 0 || replayed < all.length)
    throw new Problem(`Of ${all.length} histories ${replayed} were replayed.\n${failures.join('\n')}`);
  return replayed;
}
