import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { rowCounts, withAuditEntries } from '../toolkit/stack/database.ts';

describe('products of sales platforms', () => {
  let club: TestClub;
  let send: ClubCalls;
  const create = (body: object = {}) =>
    send('POST', '/products', { platform: 'storefront', external_id: newId(), name: 'Knots', ...body });
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
  });

  it('are created with a mapping, and later reads return the same record', async () => {
    const deliveries = [await buildAccessDelivery(club.id), await buildAccessDelivery(club.id)].map(({ id }) => id);
    const { status, body } = await create({ external_id: 'A-1', name: ' Knots  kit ', delivery_ids: deliveries });
    expect(status).to.equal(201);
    const { id, created_at: at } = body.data;
    expect(body.data).to.deep.equal({
      id,
      platform: 'storefront',
      external_id: 'A-1',
      name: 'Knots kit',
      delivery_ids: deliveries.toSorted(),
      partial_refund_ends_access: false,
      created_at: at,
      updated_at: at,
    });
    expect((await send('GET', `/products/${id}`)).body).to.deep.equal(body);
  });

  it('are listed newest first, in pages, and can be filtered by platform', async () => {
    await callsOf(await buildClub())('POST', '/products', { platform: 'storefront', external_id: '1', name: 'x' });
    const first = (await create()).body.data.id;
    const second = (await create({ platform: 'bazaar' })).body.data.id;
    const ids = async (query: string) => {
      const { body } = await send('GET', `/products${query}`);
      return [body.total, ...body.data.map(({ id }: { id: Id }) => id)];
    };
    expect(await ids('')).to.deep.equal([2, second, first]);
    expect(await ids('?platform=storefront')).to.deep.equal([1, first]);
    expect(await ids('?page=2&page_size=1')).to.deep.equal([2, first]);
  });

  it('keep the fields that a change omits, and replace the whole mapping', async () => {
    const [one, two] = [await buildAccessDelivery(club.id), await buildAccessDelivery(club.id)];
    const { data } = (await create({ delivery_ids: [one.id] })).body;
    const change = async (body: object) => (await send('PATCH', `/products/${data.id}`, body)).body.data;
    const named = await change({ name: 'Other' });
    expect(named).to.deep.equal({ ...data, name: 'Other', updated_at: named.updated_at });
    expect(await change({ partial_refund_ends_access: true })).to.include({
      name: 'Other',
      partial_refund_ends_access: true,
    });
    expect((await change({ delivery_ids: [two.id] })).delivery_ids).to.deep.equal([two.id]);
    expect((await change({ delivery_ids: [] })).delivery_ids).to.deep.equal([]);
    expect(await change({ platform: 'bazaar', external_id: 'B-2' })).to.include({
      platform: 'bazaar',
      external_id: 'B-2',
    });
  });

  it('are refused with 409 if the club has a product with the same platform and external_id', async () => {
    await create({ external_id: 'A-1' });
    const other = (await create({ external_id: 'a-1' })).body.data;
    expect((await create({ external_id: 'A-1', platform: 'bazaar' })).status).to.equal(201);
    const before = await rowCounts();
    expectError(await create({ external_id: 'A-1' }), 'product_exists');
    expectError(await send('PATCH', `/products/${other.id}`, { external_id: 'A-1' }), 'product_exists');
    expect(await rowCounts()).to.deep.equal(before);
    const elsewhere = callsOf(await buildClub());
    const same = { platform: 'storefront', external_id: 'A-1', name: 'Knots' };
    expect((await elsewhere('POST', '/products', same)).status).to.equal(201);
  });

  it('are created once for eight simultaneous requests, and the others get 409 product_exists', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ external_id: 'A-1' })));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
  });

  it('are refused with 404 if a delivery of the mapping is unknown or of another club', async () => {
    const foreign = await buildAccessDelivery((await buildClub()).id);
    const { data } = (await create()).body;
    const before = await rowCounts();
    await eachCase([newId(), foreign.id], async (id) => {
      expectError(await create({ delivery_ids: [id] }), 'not_found');
      expectError(await send('PATCH', `/products/${data.id}`, { name: 'New', delivery_ids: [id] }), 'not_found');
    });
    expect(await rowCounts()).to.deep.equal(before);
    expect((await send('GET', `/products/${data.id}`)).body.data).to.deep.equal(data);
  });

  it('are refused with 422 for invalid fields, or if the mapping repeats a delivery', async () => {
    const { id } = await buildAccessDelivery(club.id);
    await eachCase(
      [
        { platform: 'Store Front' },
        { platform: '' },
        { external_id: ' A-1' },
        { external_id: 'a'.repeat(201) },
        { name: ' ' },
        { delivery_ids: [id, id] },
        { delivery_ids: Array.from({ length: 51 }, () => newId()) },
      ],
      async (bad) => expectError(await create(bad), 'invalid_request'),
    );
  });

  it('are deleted together with their mapping', async () => {
    const { id: deliveryId } = await buildAccessDelivery(club.id);
    const before = await rowCounts();
    const { id } = (await create({ delivery_ids: [deliveryId] })).body.data;
    expect((await send('DELETE', `/products/${id}`)).status).to.equal(204);
    expect(await rowCounts()).to.deep.equal(withAuditEntries(before, 2));
    expectError(await send('GET', `/products/${id}`), 'not_found');
  });

  it('cause 404 if they are unknown or belong to another club', async () => {
    const other = callsOf(await buildClub());
    const created = await other('POST', '/products', { platform: 'storefront', external_id: '1', name: 'x' });
    await eachCase([newId(), created.body.data.id], async (id) => {
      expectError(await send('GET', `/products/${id}`), 'not_found');
      expectError(await send('PATCH', `/products/${id}`, { name: 'New' }), 'not_found');
      expectError(await send('DELETE', `/products/${id}`), 'not_found');
    });
  });
});
