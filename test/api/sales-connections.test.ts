import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildSalesConnection } from '../toolkit/builders/sales.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { columnsHolding, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const path = ({ id }: TestClub, rest = '') => `/v1/clubs/${id}/sales-connections${rest}`;
const post = (url: string, body: unknown = { event: 'nothing' }) => call('POST', new URL(url).pathname, { body });

describe('POST /v1/clubs/{clubId}/sales-connections', () => {
  describe('201', () => {
    it('shows the token and the address once, and stores neither token nor secret as plain text', async () => {
      const club = await buildClub();
      const body = { platform: 'kiwify', name: ' Main  shop ', secret: `secret-${newId()}` };
      const { status, body: answer } = await call('POST', path(club), { token: club.owner.token, body });
      expect(status).to.equal(201);
      const { token, url, ...record } = answer.data;
      expect(record).to.include({ platform: 'kiwify', name: 'Main shop', has_secret: true });
      expect(Buffer.from(token, 'base64url')).to.have.length(32);
      expect(url).to.match(new RegExp(`^https?://.+/webhooks/kiwify/${token}$`));
      await eachCase([token, body.secret], async (secret) => expect(await columnsHolding(secret)).to.deep.equal([]));
      expect((await post(url)).status).to.equal(202);
    });

    it('does not show the token or the secret in a later list', async () => {
      const club = await buildClub();
      const connection = await buildSalesConnection(club.id, 'generic', 'the secret');
      const { text, body } = await call('GET', path(club), { token: club.owner.token });
      expect(body.total).to.equal(1);
      expect(body.data[0]).to.include({ id: connection.id, has_secret: true }).and.not.have.property('last_notice_at');
      await eachCase([connection.token, 'the secret'], (secret) => expect(text).not.to.contain(secret));
    });
  });

  it('returns 422 for an unknown platform, a blank name and an empty secret, and writes nothing', async () => {
    const club = await buildClub();
    const before = await rowCounts();
    await eachCase(
      [
        { platform: 'storefront', name: 'Shop' },
        { platform: 'generic', name: '  ' },
        { platform: 'generic', name: 'x'.repeat(121) },
        { platform: 'generic', name: 'Shop', secret: '' },
      ],
      async (body) => expectError(await call('POST', path(club), { token: club.owner.token, body }), 'invalid_request'),
    );
    expect(await rowCounts()).to.deep.equal(before);
  });
});

describe('POST …/{connectionId}/rotate', () => {
  it('creates a new address, and the former address returns 404', async () => {
    const club = await buildClub();
    const connection = await buildSalesConnection(club.id);
    const { body } = await call('POST', path(club, `/${connection.id}/rotate`), { token: club.owner.token });
    expect(body.data.token).not.to.equal(connection.token);
    expectError(await call('POST', `/webhooks/generic/${connection.token}`, { body: {} }), 'not_found');
    expect((await post(body.data.url)).status).to.equal(202);
  });

  it('returns 404 for a connection of another club and a deleted connection', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const connection = await buildSalesConnection(other.id);
    const rotate = (of: TestClub) => call('POST', path(of, `/${connection.id}/rotate`), { token: of.owner.token });
    expectError(await rotate(club), 'not_found');
    expect((await call('POST', `/webhooks/generic/${connection.token}`, { body: {} })).status).to.equal(202);
    await call('DELETE', path(other, `/${connection.id}`), { token: other.owner.token });
    expectError(await rotate(other), 'not_found');
  });
});

describe('DELETE …/{connectionId}', () => {
  it('refuses new notices, and keeps the notices that arrived before', async () => {
    const club = await buildClub();
    const connection = await buildSalesConnection(club.id);
    await call('POST', `/webhooks/generic/${connection.token}`, { body: {} });
    const remove = () => call('DELETE', path(club, `/${connection.id}`), { token: club.owner.token });
    expect((await remove()).status).to.equal(204);
    expectError(await remove(), 'not_found');
    expectError(await call('POST', `/webhooks/generic/${connection.token}`, { body: {} }), 'not_found');
    expect((await call('GET', path(club), { token: club.owner.token })).body).to.deep.equal({ data: [], total: 0 });
    const source = await testDatabase();
    expect(await source.query(`SELECT 1 FROM sales_notices WHERE connection_id = $1`, [connection.id])).to.have.length(
      1,
    );
  });

  it('returns 404 for a connection of another club, and does not delete it', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const connection = await buildSalesConnection(other.id);
    expectError(await call('DELETE', path(club, `/${connection.id}`), { token: club.owner.token }), 'not_found');
    expect((await call('GET', path(other), { token: other.owner.token })).body.total).to.equal(1);
  });
});
