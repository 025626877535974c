/** Tests of the operations with which owners and admins manage API keys (KEY-1 to KEY-6). api-key-callers.test.ts tests calls with keys. */
import { expect } from 'chai';
import { scopes } from '../../contract/rules/scopes.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import { allAtOnce } from '../toolkit/drive/races.ts';
import { columnsHolding, mailsTo, testDatabase } from '../toolkit/stack/database.ts';

const day = 86_400_000;
const good = { name: 'CRM synchronization', scopes: ['students:read'] };
const inDays = (count: number) => new Date(clock.now().getTime() + count * day).toISOString();

const create = (club: TestClub, body: object = good): Promise<Answer> =>
  call('POST', `/v1/clubs/${club.id}/api-keys`, { token: club.owner.token, body });
const list = (club: TestClub, query = ''): Promise<Answer> =>
  call('GET', `/v1/clubs/${club.id}/api-keys${query}`, { token: club.owner.token });
const at = (club: TestClub, id: string) => `/v1/clubs/${club.id}/api-keys/${id}`;
const read = (club: TestClub, id: string) => call('GET', at(club, id), { token: club.owner.token });
const change = (club: TestClub, id: string, body: object) =>
  call('PATCH', at(club, id), { token: club.owner.token, body });
const revoke = (club: TestClub, id: string) => call('DELETE', at(club, id), { token: club.owner.token });
const rotate = (club: TestClub, id: string, body?: object) =>
  call('POST', `${at(club, id)}/rotate`, { token: club.owner.token, ...(body && { body }) });
const use = async (club: TestClub, token: string) =>
  (await call('GET', `/v1/clubs/${club.id}/students`, { token })).status;

describe('API keys', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('POST /v1/clubs/{clubId}/api-keys', () => {
    it('creates an active key, and returns the record and the secret', async () => {
      const { status, body } = await create(club, {
        name: '  CRM   synchronization ',
        scopes: ['tags:write', 'students:read'],
        allowed_networks: ['203.0.113.7/24', '2001:DB8::1'],
      });
      expect(status).to.equal(201);
      const { api_key: key, secret } = body.data;
      expect(key).to.deep.equal({
        id: key.id,
        name: 'CRM synchronization',
        start: secret.slice(0, 12),
        scopes: ['students:read', 'tags:write'],
        allowed_networks: ['203.0.113.0/24', '2001:db8::1/128'],
        status: 'active',
        created_by: club.owner.id,
        created_at: key.created_at,
        updated_at: key.created_at,
        expires_at: new Date(Date.parse(key.created_at) + 366 * day).toISOString(),
      });
      expect((await read(club, key.id)).body.data).to.deep.equal(key);
    });

    it('shows the secret only once, and stores only its hash', async () => {
      const { api_key: key, secret } = (await create(club)).body.data;
      expect(await columnsHolding(secret)).to.deep.equal([]);
      expect(await columnsHolding(secret.slice(13, 56))).to.deep.equal([]);
      expect((await read(club, key.id)).text).to.not.include(secret.slice(13));
      expect((await list(club)).text).to.not.include(secret.slice(13));
    });

    it('sends a mail to each owner, and to no other member', async () => {
      const secondOwner = await buildMember(club.id, 'owner');
      const admin = await buildMember(club.id, 'admin');
      await call('POST', `/v1/clubs/${club.id}/api-keys`, { token: admin.token, body: good });
      expect(await mailsTo(club.owner.id)).to.deep.equal(['api_key_created']);
      expect(await mailsTo(secondOwner.id)).to.deep.equal(['api_key_created']);
      expect(await mailsTo(admin.id)).to.deep.equal([]);
    });

    it('accepts names in every script, every scope, 20 networks and the latest allowed expiry', async () => {
      const networks = Array.from({ length: 20 }, (_, index) => `203.0.113.${index}/32`);
      const bodies = [
        { ...good, name: 'مزامنة' },
        { ...good, name: '同期 🔑' },
        { ...good, name: 'x'.repeat(80) },
        { ...good, scopes: [...scopes] },
        { ...good, allowed_networks: networks },
        { ...good, expires_at: inDays(366 - 0.001) },
      ];
      await eachCase(bodies, async (body) => expect((await create(club, body)).status).to.equal(201));
    });

    it('refuses a bad scope, network, expiry or name, and creates nothing', async () => {
      const bodies = [
        { ...good, scopes: ['members:write'] },
        { ...good, scopes: [] },
        { ...good, scopes: ['students:read', 'students:read'] },
        { ...good, allowed_networks: ['10.0.0.0/33'] },
        { ...good, expires_at: inDays(367) },
        { ...good, expires_at: inDays(-1) },
        { ...good, name: ' ' },
        { ...good, name: '\u2800' },
        { ...good, name: 'x'.repeat(81) },
      ];
      await eachCase(bodies, async (body) => expectError(await create(club, body), 'invalid_request'));
      expect((await list(club)).body.total).to.equal(0);
      expect(await mailsTo(club.owner.id)).to.deep.equal([]);
    });

    it('refuses the 51st active key, even if 6 requests compete, and does not count ended keys', async () => {
      for (let count = 0; count < 48; count++) await buildApiKey(club.id, ['students:read']);
      await buildApiKey(club.id, ['students:read'], { expiresAt: new Date(Date.now() - day) });
      const { id: revoked } = await buildApiKey(club.id, ['students:read']);
      await revoke(club, revoked);
      const answers = await allAtOnce(club.id, () => Array.from({ length: 6 }, () => create(club)));
      const created = answers.filter(({ status }) => status === 201);
      expect(created).to.have.length(2);
      for (const answer of answers) if (answer.status !== 201) expectError(answer, 'key_limit_reached');
      await revoke(club, created[0]?.body.data.api_key.id);
      expect((await create(club)).status).to.equal(201);
    });

    it('is limited to 30 an hour for a club', async () => {
      for (let count = 0; count < 30; count++) await create(club);
      expectError(await create(club), 'rate_limited');
    });
  });

  describe('GET /v1/clubs/{clubId}/api-keys', () => {
    it('lists the keys of this club, the newest first, with their status', async () => {
      const [oldest, expired, revoked] = [
        await buildApiKey(club.id, ['students:read'], { createdAt: new Date(Date.now() - 3 * day) }),
        await buildApiKey(club.id, ['students:read'], {
          createdAt: new Date(Date.now() - 2 * day),
          expiresAt: new Date(Date.now() - day),
        }),
        await buildApiKey(club.id, ['students:read']),
      ];
      await buildApiKey((await buildClub()).id, ['students:read']);
      await revoke(club, revoked.id);
      const { body } = await list(club);
      expect(body.total).to.equal(3);
      expect(body.data.map((key: { id: string; status: string }) => [key.id, key.status])).to.deep.equal([
        [revoked.id, 'revoked'],
        [expired.id, 'expired'],
        [oldest.id, 'active'],
      ]);
      expect((await list(club, '?page=2&page_size=2')).body.data).to.have.length(1);
    });
  });

  describe('PATCH /v1/clubs/{clubId}/api-keys/{keyId}', () => {
    it('changes the given fields, which apply to the next call', async () => {
      const { api_key: key, secret } = (await create(club)).body.data;
      expect(await use(club, secret)).to.equal(200);
      clock.advance(1_000);
      const { body } = await change(club, key.id, { scopes: ['tags:read'], name: 'Tags' });
      expect(body.data).to.deep.include({ scopes: ['tags:read'], name: 'Tags', expires_at: key.expires_at });
      expect(body.data.updated_at).not.to.equal(key.updated_at);
      expect(await use(club, secret)).to.equal(403);
      await change(club, key.id, { scopes: ['students:read'], allowed_networks: ['203.0.113.0/24'] });
      expect(await use(club, secret)).to.equal(401);
      await change(club, key.id, { allowed_networks: [] });
      expect(await use(club, secret)).to.equal(200);
    });

    it('refuses an expired and a revoked key, and an empty change', async () => {
      const expired = await buildApiKey(club.id, ['students:read'], { expiresAt: new Date(Date.now() - 1) });
      const revoked = await buildApiKey(club.id, ['students:read']);
      await revoke(club, revoked.id);
      await eachCase([expired, revoked], async ({ id }) => {
        expectError(await change(club, id, { expires_at: inDays(10) }), 'key_not_active');
        expectError(await rotate(club, id), 'key_not_active');
      });
      expectError(await change(club, revoked.id, {}), 'invalid_request');
    });
  });

  describe('POST /v1/clubs/{clubId}/api-keys/{keyId}/rotate', () => {
    it('returns a new secret, and accepts the old one for 24 hours if overlap_hours is absent', async () => {
      const { api_key: key, secret } = (await create(club)).body.data;
      const { body } = await rotate(club, key.id);
      expect(body.data.secret).not.to.equal(secret);
      expect(body.data.secret.slice(0, 12)).to.equal(key.start);
      const end = Date.parse(body.data.api_key.previous_secret_expires_at);
      expect(end - Date.parse(body.data.api_key.updated_at)).to.equal(day);
      expect([await use(club, secret), await use(club, body.data.secret)]).to.deep.equal([200, 200]);
      clock.advance(day);
      expect([await use(club, secret), await use(club, body.data.secret)]).to.deep.equal([401, 200]);
    });

    it('ends the old secret immediately if overlap_hours is 0, even during an overlap', async () => {
      const { api_key: key, secret: first } = (await create(club)).body.data;
      const { secret: second } = (await rotate(club, key.id, { overlap_hours: 168 })).body.data;
      expectError(await rotate(club, key.id, { overlap_hours: 1 }), 'rotation_in_progress');
      expect([await use(club, first), await use(club, second)]).to.deep.equal([200, 200]);
      const { secret: third, api_key: rotated } = (await rotate(club, key.id, { overlap_hours: 0 })).body.data;
      expect(rotated).not.to.have.property('previous_secret_expires_at');
      expect([await use(club, first), await use(club, second), await use(club, third)]).to.deep.equal([401, 401, 200]);
    });

    it('refuses an overlap of more than 168 hours', async () => {
      const { id } = await buildApiKey(club.id, ['students:read']);
      await eachCase([-1, 169, 0.5], async (overlap) =>
        expect((await rotate(club, id, { overlap_hours: overlap })).status).to.be.oneOf([400, 422]),
      );
    });
  });

  describe('DELETE /v1/clubs/{clubId}/api-keys/{keyId}', () => {
    it('revokes the key and its old secret from the next call on, and does not change a revoked key', async () => {
      const { api_key: key, secret: old } = (await create(club)).body.data;
      const { secret } = (await rotate(club, key.id)).body.data;
      expect((await revoke(club, key.id)).status).to.equal(204);
      expect([await use(club, old), await use(club, secret)]).to.deep.equal([401, 401]);
      const { revoked_at: revokedAt, status } = (await read(club, key.id)).body.data;
      expect(status).to.equal('revoked');
      clock.advance(60_000);
      expect((await revoke(club, key.id)).status).to.equal(204);
      expect((await read(club, key.id)).body.data.revoked_at).to.equal(revokedAt);
    });
  });

  it('keep working after their creator has left', async () => {
    const admin = await buildMember(club.id, 'admin');
    const { body } = await call('POST', `/v1/clubs/${club.id}/api-keys`, { token: admin.token, body: good });
    const { api_key: key, secret } = body.data;
    await (await testDatabase()).query(`DELETE FROM administrators WHERE id = $1`, [admin.id]);
    expect(await use(club, secret)).to.equal(200);
    expect((await read(club, key.id)).body.data).not.to.have.property('created_by');
  });
});
