import { cp, mkdtemp, rm, truncate } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Worker } from '@temporalio/worker';
import { expect } from 'chai';
import { startApi } from '../../api/server.ts';
import { contractText } from '../../contract/contract.ts';
import { messageOf } from '../../dev/problem.ts';
import { migrate } from '../../commands/migrate.ts';
import { counterDeadlineMs, testConfig } from '../toolkit/drive/api.ts';
import { historyFrom } from '../toolkit/drive/replay.ts';
import { scratchDatabase, testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';
import { quietRuntime } from '../toolkit/stack/time-skipping.ts';
import { workflowBundle } from '../toolkit/stack/worker.ts';
import { readEnds, readRelease, recordedVersions, releaseKey, releasesDirectory, type Release } from './archive.ts';
import { brokenTerms } from './contract-terms.ts';
import { loadDump, lostPlaces, schemaOf, type Dump } from './dump.ts';
import { useOpenRuns } from './open-runs.ts';
import { endedTerms } from './ended-terms.ts';
import { ask, differences } from './reads.ts';

const noticeBound = 'any stranger may post a notice, and parsing 1 MiB blocked the thread for too long (SALE-4)';

const mailDirection =
  'e-mails declare the language and direction of their club, and align their text in this direction (ADR 59)';
/**
 * Intended differences between today's code and older releases, with their reasons. The key is `table.column`, `operation /place` or a line
 * of brokenTerms().
 */
const intended: Readonly<Record<string, string>> = {
  'asked now: post /webhooks/billing body application/json x-max-bytes 262144': noticeBound,
  'asked now: post /webhooks/mail/{token} body application/json x-max-bytes 262144': noticeBound,
  'asked now: post /webhooks/ses/{token} body text/plain x-max-bytes 262144': noticeBound,
  'asked now: post /webhooks/{platform}/{token} body application/json x-max-bytes 262144': noticeBound,
  'checkCampaign /answer/data/html_bytes': mailDirection,
  'checkCampaign /answer/data/warnings/0/message': 'the warning has a plainer text and an unchanged code',
  'previewCampaign /answer/data/html': mailDirection,
  'previewCampaign /answer/data/html_bytes': mailDirection,
  'previewContrastingCopies /answer/data/previews/0/html_bytes': mailDirection,
  'previewContrastingCopies /answer/data/previews/1/html_bytes': mailDirection,
  'listCampaigns /answer/data/0/content/blocks':
    'a row of the list no longer has contents, because a page of contents blocked the thread (CAMP-18, ADR 46)',
  'webhook_events.body':
    'bodies are now in a separate table, webhook_bodies (ADR 38); reads of deliveries show each body',
};

describe('recorded releases', function () {
  this.timeout(120_000);
  let schemaToday: string[] = [];
  before('read the schema of an empty database, before releases are loaded', async () => {
    await testStack();
    process.env['MASTER_KEY'] = releaseKey;
    schemaToday = await schemaOf(await testDatabase());
  });

  it('begin with 0.2.0', () => {
    expect(recordedVersions()[0]).to.equal('0.2.0');
  });

  it('cause an error that names the file if a file of the release is damaged', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-release-'));
    try {
      await cp(path.join(releasesDirectory, '0.2.0'), directory, { recursive: true });
      const file = path.join(directory, 'database.json.gz');
      await truncate(file, 100_000);
      const message = 'Release 0.2.0 does not load: database.json.gz cannot be read.';
      expect(() => readRelease('0.2.0', directory)).to.throw(message);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('cause an error that names the table if a table does not load, and leave no transaction open', async () => {
    const source = await scratchDatabase();
    try {
      const column = { name: 'id', type: 'integer' };
      const damaged: Dump = {
        schema: ['CREATE TABLE first (id integer)', 'CREATE TABLE second (id integer)'],
        tables: [
          { name: 'first', columns: [column], rows: ['{"id": 1}'] },
          { name: 'second', columns: [column], rows: ['{"id": "one"}'] },
        ],
        sequences: [],
      };
      const error = await loadDump(source, damaged).catch((reason: unknown) => reason);
      expect(messageOf(error)).to.contain('The dump does not load: table second: invalid input syntax');
      expect(await source.query('SELECT * FROM first')).to.deep.equal([]);
    } finally {
      await source.destroy();
    }
  });

  for (const version of recordedVersions())
    describe(`release ${version}`, () => {
      const openRuns = useOpenRuns();
      let release: Release | undefined;
      const recorded = () => release ?? (release = readRelease(version));

      before('load the database of the release, and migrate it', async () => {
        const source = await testDatabase();
        await loadDump(source, recorded().database);
        await migrate(source);
      });

      it('has today’s database schema after the migrations', async () => {
        expect(await schemaOf(await testDatabase())).to.deep.equal(schemaToday);
      });

      it('keeps every row, and every value of every column, after the migrations', async () => {
        const source = await testDatabase();
        const lostRows: string[] = [];
        for (const table of recorded().database.tables) {
          lostRows.push(...(await lostPlaces(source, table)));
        }
        expect(lostRows.filter((place) => !(place in intended))).to.deep.equal([]);
      });

      it('has a contract whose promises today’s contract keeps, without new requirements', () => {
        const today = JSON.parse(contractText) as object;
        const broken = brokenTerms(recorded().contract, today).filter((line) => !(line in intended));
        const releases = recordedVersions().map((each) => readRelease(each));
        const contracts = releases.map(({ contract, summary: { recordedAt } }) => ({ contract, recordedAt }));
        const ended = endedTerms(contracts, today, new Date().toISOString().slice(0, 10));
        expect(broken.filter((line) => !ended.has(line))).to.deep.equal([]);
      });

      it('still gets the recorded answer to every read from today’s API', async () => {
        const now = new Date(recorded().summary.recordedAt);
        const options = { clock: () => now, readinessGraceMs: 0, counterDeadlineMs };
        const api = await startApi(await testConfig(), options);
        const changed: object[] = [];
        try {
          for (const read of recorded().reads) {
            const { operation, status, answer } = read;
            const today = await ask(`http://127.0.0.1:${api.port}`, read, now);
            for (const { at, was, is } of differences(
              { status, answer },
              { status: today.status, answer: today.answer },
            ))
              if (!(`${operation} ${at}` in intended)) changed.push({ operation, as: read.caller?.kind, at, was, is });
          }
        } finally {
          await api.stop();
        }
        expect(changed).to.deep.equal([]);
      });

      it('has open runs, which all continue to their recorded ends', async () => {
        expect(await openRuns(recorded())).to.deep.equal(readEnds(version));
      });

      it('leaves a client of the object store that uses the real clock, which the next release needs', async () => {
        expect(await (await testObjectStore()).size(`public/${version}`)).to.equal(undefined);
      });

      it('replays its histories with today’s workflows', async () => {
        quietRuntime();
        const histories = Object.entries(recorded().histories).map(([workflowId, readable]) => ({
          workflowId,
          history: historyFrom(readable),
        }));
        const failures: string[] = [];
        let replayed = 0;
        for await (const result of Worker.runReplayHistories({ workflowBundle: await workflowBundle() }, histories)) {
          replayed += 1;
          if (result.error) failures.push(`${result.workflowId}: ${messageOf(result.error)}`);
        }
        expect(failures).to.deep.equal([]);
        expect(replayed).to.equal(histories.length).greaterThan(0);
      });
    });
});
