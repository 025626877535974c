import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery, type TestAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const later = () => new Date(Date.now() + 3_600_000).toISOString();

describe('registration links', () => {
  let club: TestClub;
  let send: ClubCalls;
  let delivery: TestAccessDelivery;
  const create = (body: object = {}) =>
    send('POST', '/registration-links', { name: 'Open day', delivery_ids: [delivery.id], ...body });
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
    delivery = await buildAccessDelivery(club.id);
  });

  describe('POST /v1/clubs/{clubId}/registration-links', () => {
    it('creates a link, and returns its address and the record that later reads return', async () => {
      const fields = { code: 'Spring_open-day', max_uses: 3, expires_at: later() };
      const { status, body } = await create({ ...fields, name: ' Open  day ' });
      expect(status).to.equal(201);
      const { id, created_at: at } = body.data;
      const source = await testDatabase();
      const [row] = await source.query<{ slug: string }[]>(`SELECT slug FROM clubs WHERE id = $1`, [club.id]);
      expect(body.data).to.deep.equal({
        id,
        ...fields,
        name: 'Open day',
        deliveries: [{ id: delivery.id, name: delivery.name }],
        uses: 0,
        url: `http://${row?.slug}.classroom.localhost:3000/join/Spring_open-day`,
        created_at: at,
      });
      expect((await send('GET', `/registration-links/${id}`)).body).to.deep.equal(body);
    });

    it('generates a different code for each link without a given code', async () => {
      const codes = [(await create()).body.data.code, (await create()).body.data.code];
      await eachCase(codes, (code) => expect(code).to.match(/^[2-9a-hjkmnp-z]{10}$/));
      expect(codes[0]).to.not.equal(codes[1]);
    });

    it('returns 409 code_taken for a code of this club in any letter case, but not for another club’s code', async () => {
      await create({ code: 'Springtime' });
      const before = await rowCounts();
      await eachCase(['Springtime', 'SPRINGTIME'], async (code) => expectError(await create({ code }), 'code_taken'));
      expect(await rowCounts()).to.deep.equal(before);
      const elsewhere = await buildClub();
      const body = { name: 'x', code: 'springtime', delivery_ids: [(await buildAccessDelivery(elsewhere.id)).id] };
      expect((await callsOf(elsewhere)('POST', '/registration-links', body)).status).to.equal(201);
    });

    it('returns 404 if a delivery is unknown or belongs to another club, and writes nothing', async () => {
      const foreign = await buildAccessDelivery((await buildClub()).id);
      const before = await rowCounts();
      await eachCase([newId(), foreign.id], async (id) =>
        expectError(await create({ delivery_ids: [delivery.id, id] }), 'not_found'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 422 for invalid fields and for an expiry in the past', async () => {
      await eachCase(['a'.repeat(8), 'a'.repeat(64)], async (code) =>
        expect((await create({ code })).status).to.equal(201),
      );
      await eachCase(
        [
          { code: '' },
          { code: 'a'.repeat(7) },
          { code: 'a'.repeat(65) },
          { code: 'open day' },
          { code: 'ñ' },
          { name: ' ' },
          { max_uses: 0 },
          { delivery_ids: [] },
          { delivery_ids: [delivery.id, delivery.id] },
          { expires_at: new Date(Date.now() - 1_000).toISOString() },
          { expires_at: '2027-02-30T00:00:00Z' },
        ],
        async (bad) => expectError(await create(bad), 'invalid_request'),
      );
    });
  });

  it('lists the club’s links newest first, in pages', async () => {
    const [first, second] = [(await create()).body.data, (await create()).body.data];
    const ids = async (query: string) => {
      const { body } = await send('GET', `/registration-links${query}`);
      return [body.total, ...body.data.map(({ id }: { id: Id }) => id)];
    };
    expect(await ids('')).to.deep.equal([2, second.id, first.id]);
    expect(await ids('?page=2&page_size=1')).to.deep.equal([2, first.id]);
    expect((await callsOf(await buildClub())('GET', '/registration-links')).body).to.deep.equal({ data: [], total: 0 });
  });

  it('changes the given fields, and removes a limit if its new value is 0 or an empty text', async () => {
    const { data } = (await create({ max_uses: 3, expires_at: later() })).body;
    const other = await buildAccessDelivery(club.id);
    const change = async (body: object) => (await send('PATCH', `/registration-links/${data.id}`, body)).body.data;
    expect(await change({ name: 'Week' })).to.deep.equal({ ...data, name: 'Week' });
    expect((await change({ delivery_ids: [other.id] })).deliveries).to.deep.equal([{ id: other.id, name: other.name }]);
    expect(await change({ max_uses: 9 })).to.include({ max_uses: 9, expires_at: data.expires_at });
    expect(await change({ max_uses: 0 })).to.not.have.property('max_uses');
    const past = new Date(Date.now() - 1_000).toISOString();
    expect(await change({ expires_at: past })).to.include({ expires_at: past });
    expect(await change({ expires_at: '' })).to.not.have.property('expires_at');
    expectError(await send('PATCH', `/registration-links/${data.id}`, { delivery_ids: [newId()] }), 'not_found');
    expectError(await send('PATCH', `/registration-links/${data.id}`, { code: 'new' }), 'malformed_request');
    expectError(await send('PATCH', `/registration-links/${data.id}`, {}), 'invalid_request');
  });

  it('revokes a link, and changes nothing if the revocation is repeated', async () => {
    const { id } = (await create()).body.data;
    const once = await send('POST', `/registration-links/${id}/revoke`);
    expect(once.body.data).to.have.property('revoked_at');
    expect((await send('POST', `/registration-links/${id}/revoke`)).body).to.deep.equal(once.body);
  });

  it('returns 404 for an unknown link and a link of another club', async () => {
    const other = await buildClub();
    const body = { name: 'x', delivery_ids: [(await buildAccessDelivery(other.id)).id] };
    const foreign = (await callsOf(other)('POST', '/registration-links', body)).body.data.id;
    await eachCase([newId(), foreign], async (id) => {
      expectError(await send('GET', `/registration-links/${id}`), 'not_found');
      expectError(await send('PATCH', `/registration-links/${id}`, { name: 'New' }), 'not_found');
      expectError(await send('POST', `/registration-links/${id}/revoke`), 'not_found');
    });
  });
});
