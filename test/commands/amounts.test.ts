import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { listAmounts } from '../../commands/amounts.ts';
import {
  buildProduct,
  buildSalesConnection,
  buildShop,
  purchaseNotice,
  type TestShop,
} from '../toolkit/builders/sales.ts';
import { hotmartPurchase } from '../toolkit/builders/platform-notices.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { stepNotice, takeNotice, sell } from '../toolkit/drive/sales.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

describe('the command amounts', () => {
  beforeEach(async () => {
    const source = await testDatabase();
    await source.query(`DELETE FROM sales_notices`);
    await source.query(`DELETE FROM purchases`);
  });
  const listed = async () => {
    const lines: string[] = [];
    const code = await listAmounts(await testConfig(), (line) => lines.push(line));
    return { code, lines };
  };
  const purchases = async () => {
    const source = await testDatabase();
    return source.query<{ id: string; clubId: string }[]>(
      `SELECT id, club_id AS "clubId" FROM purchases ORDER BY created_at, id`,
    );
  };
  const sellInHotmart = async ({ club }: TestShop, currency: string, value: number) => {
    const connection = await buildSalesConnection(club.id, 'hotmart');
    const { externalId } = await buildProduct(club.id, { platform: 'hotmart' });
    const notice = structuredClone(hotmartPurchase('PURCHASE_APPROVED')) as {
      data: { purchase: Record<string, unknown>; product: { id: string }; subscription?: unknown };
    };
    notice.data.product.id = externalId;
    delete notice.data.subscription;
    Object.assign(notice.data.purchase, { transaction: newId(), price: { value, currency_value: currency } });
    expect(await stepNotice(await takeNotice(connection, notice))).to.include({ outcome: 'processed' });
  };

  it('lists no amount that the current version recorded', async () => {
    const shop = await buildShop();
    await sellInHotmart(shop, 'COP', 149_900);
    await sell(shop, purchaseNotice(shop, 'paid'));
    expect(await listed()).to.deep.equal({ code: 0, lines: ['rounded 0, from text 0'] });
  });

  it('lists amounts that an earlier version rounded, with the probable right values, and changes nothing', async () => {
    const shop = await buildShop();
    await sellInHotmart(shop, 'COP', 149_900);
    await sellInHotmart(shop, 'IQD', 15.125);
    await sellInHotmart(shop, 'EUR', 49);
    const source = await testDatabase();
    await source.query(`UPDATE purchases SET amount_decimals = NULL`);
    await source.query(
      `UPDATE purchases SET amount = CASE currency WHEN 'COP' THEN 149900 WHEN 'IQD' THEN 15 ELSE amount END`,
    );
    const before = await rowCounts();
    const [cop, iqd] = await purchases();
    expect(await listed()).to.deep.equal({
      code: 1,
      lines: [
        `club ${shop.club.id} purchase ${cop?.id}: 149900 COP, rounded: about 14990000 is right`,
        `club ${shop.club.id} purchase ${iqd?.id}: 15 IQD, rounded: about 15000 is right`,
        'rounded 2, from text 0',
      ],
    });
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('lists purchases whose notice states the amount as a text, without data of the buyer', async () => {
    const shop = await buildShop();
    const body = purchaseNotice(shop, 'paid');
    const id = await takeNotice(shop.connection, body);
    await stepNotice(id);
    const stated = JSON.stringify({ ...body, purchase: { id: 'sale-1', amount: '49.00', currency: 'EUR' } });
    await alter('sales_notices', id, { body: Buffer.from(stated) });
    await takeNotice(shop.connection, body);
    const broken = await takeNotice(shop.connection, body);
    await alter('sales_notices', broken, { status: 'processed', body: Buffer.from('{') });
    const [sale] = await purchases();
    const { code, lines } = await listed();
    expect({ code, lines }).to.deep.equal({
      code: 1,
      lines: [
        `club ${shop.club.id} purchase ${sale?.id}: 4900 EUR, its notice states a text: compare it with the platform`,
        'rounded 0, from text 1',
      ],
    });
    expect(lines.join()).to.not.include(shop.email);
  });
});
