/**
 * Records a release; `npm run release -- VERSION` (main.ts) starts it. First it plays the tour and the scenarios of test/replay to their
 * ends. Then it plays the scenarios again, but only until their runs would begin. Each of these scenarios leaves a row that waits. A club
 * with a record of every kind, and further-states.ts, add the missing rows.
 */
import { expect } from 'chai';
import { startApi } from '../../api/server.ts';
import { contractText } from '../../contract/contract.ts';
import { startFakeModel, type FakeModel } from '../../dev/fake-model/fake-model.ts';
import { freePorts } from '../../dev/stack/ports.ts';
import { runTour } from '../../dev/tour/tour.ts';
import { readConfig } from '../../config.ts';
import { useRecorder } from '../replay/recorder.ts';
import { playedScenarios } from '../replay/scenarios/index.ts';
import { buildFurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { missingInSchema } from '../toolkit/assert/schema.ts';
import { counterDeadlineMs, testConfig } from '../toolkit/drive/api.ts';
import { readableHistory } from '../toolkit/drive/replay.ts';
import { scratchDatabase, testDatabase } from '../toolkit/stack/database.ts';
import { testBucket } from '../toolkit/stack/storage.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useWorker } from '../toolkit/stack/worker.ts';
import { releaseKey, writeRelease, type Read, type StoredObject } from './archive.ts';
import { loadDump, recordRows, recordSchema, type Dump } from './dump.ts';
import { addFurtherStates } from './further-states.ts';
import { playUntilHeld } from './held-plays.ts';
import { ask, questionsAbout } from './reads.ts';
import { coverageOf } from './states.ts';

const version = process.env['RELEASE_VERSION'] ?? '';
const directory = process.env['RELEASE_DIRECTORY'] ?? '';

/** The largest object that is recorded, in bytes. Larger objects are not needed, because no open run waits for them. */
const largestObject = 64 * 1024;

describe('recording a release', function () {
  this.timeout(300_000);
  const histories: Record<string, object> = {};
  before('the key of releases', async () => {
    await testStack();
    process.env['MASTER_KEY'] = releaseKey;
  });

  describe('the tour', () => {
    const startWorker = useWorker();
    let model: FakeModel | undefined;
    after(() => model?.stop());

    it('is played', async () => {
      model = await startFakeModel({ delayMs: 1 });
      const { environment, authority, mailbox } = await testStack();
      const { api: port } = await freePorts(['api']);
      const settings = {
        API_PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${port}`,
        AUTOMATION_WAIT_SPEED: '3600',
        ANTHROPIC_API_KEY: 'fake',
        ANTHROPIC_BASE_URL: model.url,
        EGRESS_ALLOWED_NETWORKS: '127.0.0.0/8',
      };
      const api = await startApi(await testConfig(settings), { readinessGraceMs: 0, counterDeadlineMs });
      await startWorker(settings);
      const tour = await runTour({
        environment: {
          ...environment,
          ...settings,
          MAILBOX_URL: mailbox.httpUrl,
          TEMPORAL_UI_URL: 'http://127.0.0.1:9',
        },
        authority,
        say() {},
      });
      await tour.stop();
      await api.stop();
    });
  });

  describe('runs that have ended', () => {
    const recorder = useRecorder();
    for (const [workflow, plays] of Object.entries(playedScenarios))
      for (const [scenario, play] of Object.entries(plays))
        it(`${workflow}/${scenario}`, async () => {
          const handle = await play(recorder());
          await handle.result();
          histories[`${workflow}/${scenario}`] = readableHistory(await handle.fetchHistory());
        });
  });

  describe('the release', () => {
    it('is written', async () => {
      for (const plays of Object.values(playedScenarios))
        for (const play of Object.values(plays)) await playUntilHeld(play);
      const club = await buildFurnishedClub();
      const source = await testDatabase();
      expect(await addFurtherStates(source), 'states that cannot be made').to.deep.equal([]);
      const database = await recordDatabase();
      const coverage = await coverageOf(source, database.tables);
      const objects = await recordObjects();
      const recordedAt = new Date();

      const reads: Read[] = [];
      const api = await startApi(await testConfig(), {
        clock: () => recordedAt,
        readinessGraceMs: 0,
        counterDeadlineMs,
      });
      const base = `http://127.0.0.1:${api.port}`;
      for (const question of questionsAbout(club)) reads.push(await ask(base, question, recordedAt));
      await api.stop();

      const contract = JSON.parse(contractText) as object;
      const summary = { version, recordedAt: recordedAt.toISOString(), ...coverage };
      writeRelease(directory, { summary, database, histories, contract, reads, objects });
    });
  });
});

/** @throws Error if the recording cannot be loaded, or if the loaded database differs */
async function recordDatabase(): Promise<Dump> {
  const [source, empty, loaded] = [await testDatabase(), await scratchDatabase(), await scratchDatabase()];
  try {
    const dump = { schema: await recordSchema(empty), ...(await recordRows(source)) };
    await loadDump(loaded, dump);
    expect(await missingInSchema(loaded)).to.deep.equal([]);
    const again = await recordRows(loaded);
    for (const [index, { name, rows }] of dump.tables.entries())
      expect(again.tables[index]?.rows, `the rows of ${name}`).to.deep.equal(rows);
    expect(again.sequences).to.deep.equal(dump.sequences);
    return dump;
  } finally {
    await empty.destroy();
    await loaded.destroy();
  }
}

async function recordObjects(): Promise<StoredObject[]> {
  const bucket = await testBucket();
  const { privateBucket, publicBucket } = readConfig().storage;
  const objects: StoredObject[] = [];
  for (const [name, of] of [
    ['private', privateBucket],
    ['public', publicBucket],
  ] as const) {
    for (const key of (await bucket.objects('', of)).toSorted()) {
      const bytes = await bucket.contentOf(key, of);
      if (bytes.length <= largestObject) objects.push({ bucket: name, key, base64: bytes.toString('base64') });
    }
  }
  return objects;
}
