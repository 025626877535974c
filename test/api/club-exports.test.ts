/** Tests the requests, records and refusals of exports of clubs (EXP-10, EXP-11, EXP-16). */
import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { beginClubExport, readClubExport, runClubExport } from '../toolkit/drive/club-exports.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

describe('exports of clubs', () => {
  let club: TestClub;
  let owner: ClubCalls;
  beforeEach(async () => {
    club = await buildClub();
    owner = callsOf(club);
  });

  /** Tests that move the API's clock need a session that proves itself again. */
  const later = async (ms: number) => {
    clock.advance(ms);
    const source = await testDatabase();
    await source.query(
      `UPDATE administrator_sessions SET expires_at = $2, proved_at = $3 WHERE administrator_id = $1`,
      [club.owner.id, new Date(clock.now().getTime() + day), clock.now()],
    );
  };

  it('answers 202 with the pending export, reads it, and lists it', async () => {
    const accepted = await owner('POST', '/exports');
    expect(accepted.status).to.equal(202);
    expect(accepted.body.data).to.include({ status: 'pending' });
    expect(accepted.body.data.progress).to.include({ record_types_done: 0, records: 0, bytes: 0 });
    expect(await readClubExport(club, accepted.body.data.id)).to.deep.equal(accepted.body.data);
    expect((await owner('GET', '/exports')).body).to.deep.equal({ data: [accepted.body.data], total: 1 });
  });

  it('answers concurrent requests with one export', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => owner('POST', '/exports')));
    expect(new Set(answers.map(({ body }) => body.data.id)).size).to.equal(1);
  });

  it('answers a request of the same day with the ready export, without its address', async () => {
    const exportId = await beginClubExport(club);
    await runClubExport(exportId);
    const { body } = await owner('POST', '/exports');
    expect(body.data).to.include({ id: exportId, status: 'ready' });
    expect(body.data).not.to.have.property('archive');
  });

  it('begins another export a day later', async () => {
    const exportId = await beginClubExport(club);
    await runClubExport(exportId);
    await later(day + minute);
    expect(await beginClubExport(club)).not.to.equal(exportId);
  });

  it('shows a ready export with its archive and the time of its erasure', async () => {
    const exportId = await beginClubExport(club);
    await runClubExport(exportId);
    const ready = await readClubExport(club, exportId);
    expect(ready.status).to.equal('ready');
    expect(ready.progress.record_types_done).to.equal(ready.progress.record_types);
    expect(Date.parse(ready.expires_at ?? '') - Date.parse(ready.ready_at ?? '')).to.equal(7 * day);
    expect(ready.archive?.size_bytes).to.be.greaterThan(ready.progress.bytes);
  });

  it('continues a download at another address with the same bytes', async () => {
    const exportId = await beginClubExport(club);
    await runClubExport(exportId);
    const addressOf = async () => (await readClubExport(club, exportId)).archive?.url ?? '';
    const whole = await fetch(await addressOf());
    const bytes = Buffer.from(await whole.arrayBuffer());
    const etag = whole.headers.get('etag') ?? '';
    const rest = await fetch(await addressOf(), { headers: { range: 'bytes=100-', 'if-range': etag } });
    expect(rest.status).to.equal(206);
    expect(Buffer.from(await rest.arrayBuffer()).equals(bytes.subarray(100))).to.equal(true);
  });

  it('refuses a session without a fresh factor', async () => {
    clock.advance(11 * minute);
    expectError(await owner('POST', '/exports'), 'fresh_factor_required');
  });

  it('shows the progress without a fresh factor, but not the address of the archive', async () => {
    const exportId = await beginClubExport(club);
    await runClubExport(exportId);
    clock.advance(11 * minute);
    const { body } = await owner('GET', `/exports/${exportId}`);
    expect(body.data).to.include({ status: 'ready' });
    expect(body.data).not.to.have.property('archive');
    expect((await owner('GET', '/exports')).body.data[0]).not.to.have.property('archive');
  });

  it('refuses administrators who are no owners', async () => {
    const admin = callsOf(club, (await buildMember(club.id, 'admin')).token);
    for (const [method, path] of [
      ['POST', '/exports'],
      ['GET', '/exports'],
      ['GET', `/exports/${newId()}`],
    ] as const)
      expectError(await admin(method, path), 'role_not_permitted');
  });

  it('refuses API keys', async () => {
    const { token } = await buildApiKey(club.id, ['club:read', 'club:write']);
    const answer = await call('POST', `/v1/clubs/${club.id}/exports`, { token });
    expect(answer.status).to.be.oneOf([401, 403]);
  });

  it('answers 404 to exports of another club', async () => {
    const exportId = await beginClubExport(await buildClub());
    expectError(await owner('GET', `/exports/${exportId}`), 'not_found');
    expectError(await owner('DELETE', `/exports/${exportId}`), 'not_found');
    expectError(await owner('GET', `/exports/${exportId}/files`), 'not_found');
  });

  it('cancels an open export, and then begins another one immediately', async () => {
    const exportId = await beginClubExport(club);
    expect((await owner('DELETE', `/exports/${exportId}`)).status).to.equal(204);
    expect((await readClubExport(club, exportId)).status).to.equal('expired');
    expect((await owner('DELETE', `/exports/${exportId}`)).status).to.equal(204);
    expect(await beginClubExport(club)).not.to.equal(exportId);
  });

  it('writes audit entries for the request and the erasure, with ids only', async () => {
    const exportId = await beginClubExport(club);
    await owner('DELETE', `/exports/${exportId}`);
    const { body } = await owner('GET', '/audit-log');
    expect(
      body.data.map(({ operation, records }: { operation: string; records: unknown }) => ({ operation, records })),
    ).to.deep.equal([
      { operation: 'deleteClubExport', records: [{ kind: 'export', id: exportId }] },
      { operation: 'requestClubExport', records: [{ kind: 'created', id: exportId }] },
    ]);
  });
});
