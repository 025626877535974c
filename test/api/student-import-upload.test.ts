/**
 * Tests uploads of import files that are large, interrupted or canceled. The record of the import shows the outcome, and no file remains in
 * the object store.
 */
import { once } from 'node:events';
import { request, type ClientRequest } from 'node:http';
import { expect } from 'chai';
import { importRules } from '../../domain/access/imports/imports.policy.ts';
import { until } from '../../dev/stack/readiness.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, someAddress, testApi } from '../toolkit/drive/api.ts';
import { serveApp } from '../toolkit/stack/app.ts';
import {
  importsPath,
  readImport,
  runImport,
  step,
  storedOf,
  untilPartStored,
  upload,
  type ImportRecord,
} from '../toolkit/drive/imports.ts';

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => `u${from + at}@example.com,U ${from + at},${'x'.repeat(1_000)}\n`).join('');
const header = 'email,name,note\n';

describe('student import upload', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  /** Starts an upload in chunks. The test sends the next chunks. */
  async function open(
    first: string,
  ): Promise<{ chunkedRequest: ClientRequest; answer: Promise<{ status: number; code: string }> }> {
    const { port } = await testApi();
    const headers = {
      authorization: `Bearer ${club.owner.token}`,
      'content-type': 'text/csv',
      'transfer-encoding': 'chunked',
      'x-forwarded-for': someAddress(),
    };
    const chunkedRequest = request({ port, host: '127.0.0.1', method: 'POST', path: importsPath(club), headers });
    const answer = once(chunkedRequest, 'response').then(async ([response]) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        error?: { code: string };
        data?: { status: string };
      };
      return { status: Number(response.statusCode), code: body.error?.code ?? body.data?.status ?? '' };
    });
    answer.catch(() => {});
    chunkedRequest.on('error', () => {});
    chunkedRequest.write(first);
    return { chunkedRequest, answer };
  }

  async function only(): Promise<ImportRecord> {
    const { body } = await call('GET', importsPath(club), { token: club.owner.token });
    expect(body.total).to.equal(1);
    return body.data[0];
  }

  const untilImport = (what: string, isSo: (record: ImportRecord) => boolean) =>
    until(
      what,
      async () => {
        const { body } = await call('GET', importsPath(club), { token: club.owner.token });
        if (!body.data[0] || !isSo(body.data[0])) throw new Error('not yet');
      },
      { timeoutMs: 10_000 },
    );

  describe('an upload of 20 MB', function () {
    this.timeout(60_000);

    it('is stored completely, and processed in pieces of 128 KB', async () => {
      const { status, body } = await upload(club, header + rows(20_000));
      expect([status, body.data.rows_total]).to.deep.equal([202, 20_000]);
      await step(body.data.id);
      const { created, status: now } = await readImport(club, body.data.id);
      expect([now, created]).to.deep.equal(['running', 128]); // the rows have a kilobyte each
    });
  });

  describe('an interrupted upload', function () {
    this.timeout(30_000);

    it('fails with upload_interrupted if the sender disconnects, and leaves no file', async () => {
      const { chunkedRequest } = await open(header + rows(6_000));
      await untilImport('the row', ({ status }) => status === 'uploading');
      chunkedRequest.write(rows(6_000, 6_000));
      await untilPartStored(club);
      chunkedRequest.destroy();
      await untilImport('its end', ({ status }) => status === 'failed');
      const { id, error, rows_done: done } = await only();
      expect([error, done]).to.deep.equal(['upload_interrupted', 0]);
      await runImport(id);
      expect(await storedOf(club)).to.deep.equal([]);
    });

    it('fails with 413 and upload_too_large above 32 MB', async () => {
      const { chunkedRequest, answer } = await open(header);
      const block = rows(1_000);
      for (let blocks = 0; blocks < 33 && !chunkedRequest.destroyed; blocks++) {
        if (!chunkedRequest.write(block)) await Promise.race([once(chunkedRequest, 'drain'), answer]);
      }
      expect(await answer).to.deep.equal({ status: 413, code: 'body_too_large' });
      chunkedRequest.destroy();
      const { id, status, error } = await only();
      expect([status, error]).to.deep.equal(['failed', 'upload_too_large']);
      await runImport(id);
      expect(await storedOf(club)).to.deep.equal([]);
    });

    it('fails 15 minutes after a crash of the API, and leaves no stored file', async () => {
      const { chunkedRequest } = await open(header + rows(6_000));
      chunkedRequest.write(rows(1_000, 6_000));
      await untilPartStored(club);
      const { id } = await only();
      expect(await step(id)).to.include({ done: false, status: 'uploading' });
      expect(await readImport(club, id)).to.include({ status: 'uploading' });
      clock.advance(importRules.uploadMs + 1_000);
      expect(await runImport(id)).to.deep.equal({ done: true, outcome: 'failed' });
      expect([(await readImport(club, id)).error, await storedOf(club)]).to.deep.equal(['upload_interrupted', []]);
      chunkedRequest.destroy();
    });

    it('fails with 500 and upload_interrupted if the object store fails, and leaves no file', async () => {
      const api = await serveApp({
        deps: (usual) => ({
          ...usual,
          deps: {
            ...usual.deps,
            storage: {
              ...usual.deps.storage,
              put: async (...args) => {
                await usual.deps.storage.put(...args);
                throw new Error('Store is unavailable');
              },
            },
          },
        }),
      });
      const headers = { authorization: `Bearer ${club.owner.token}`, 'content-type': 'text/csv' };
      const answer = await fetch(api.base + importsPath(club), { method: 'POST', headers, body: header + rows(3) });
      expect(answer.status).to.equal(500);
      await api.close();
      const { id, status, error } = await only();
      expect([status, error]).to.deep.equal(['failed', 'upload_interrupted']);
      await runImport(id);
      expect(await storedOf(club)).to.deep.equal([]);
    });
  });

  describe('an import that is canceled during its upload', () => {
    it('counts against the limit of open imports until its upload ends', async () => {
      const { chunkedRequest, answer } = await open(header + rows(100));
      await untilImport('the row', ({ status }) => status === 'uploading');
      const { id } = await only();
      await call('POST', importsPath(club, id, 'cancel'), { token: club.owner.token });
      await runImport(id);
      const one = async () => (await upload(club, header + rows(1))).status;
      for (let count = 1; count < importRules.maxOpen; count++) expect(await one()).to.equal(202);
      expect(await one()).to.equal(409);
      chunkedRequest.end();
      expect(await answer).to.deep.equal({ status: 202, code: 'canceled' });
      expect(await one()).to.equal(202);
      expect(await runImport(id)).to.deep.equal({ done: true, outcome: 'canceled' });
    });

    it('remains canceled, and its file is erased, even if the upload ends after the cancelation', async () => {
      const { chunkedRequest, answer } = await open(header + rows(100));
      await untilImport('the row', ({ status }) => status === 'uploading');
      const { id } = await only();
      await call('POST', importsPath(club, id, 'cancel'), { token: club.owner.token });
      expect(await runImport(id)).to.include({ done: false, status: 'canceled' }); // the file may still arrive
      chunkedRequest.end(rows(100, 100));
      expect(await answer).to.deep.equal({ status: 202, code: 'canceled' });
      expect(await storedOf(club)).to.have.length(1);
      await runImport(id);
      expect(await storedOf(club)).to.deep.equal([]);
      clock.advance(importRules.uploadMs + 1_000);
      expect(await runImport(id)).to.deep.equal({ done: true, outcome: 'canceled' });
    });
  });
});
