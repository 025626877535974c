/** Tests that no event contains the national tax document of a student (DEL-17). */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { eventTypes } from '../../../../platform/core/event-types.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { fanOut } from '../../../../domain/webhooks/events/fan-out.ts';
import { buildShop, purchaseNotice } from '../../../toolkit/builders/sales.ts';
import { buildEndpoint } from '../../../toolkit/builders/webhooks.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { sell } from '../../../toolkit/drive/sales.ts';
import type { FactToTell } from '../../../../platform/engine/facts.ts';

/** Eleven digits, with or without groups, as on the platforms. */
const taxDocuments = fc
  .tuple(fc.stringMatching(/^[1-9][0-9]{10}$/), fc.boolean())
  .map(([digits, grouped]) => (grouped ? digits.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4') : digits));

const buyers = fc.record({
  name: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 }).filter((name) => name.trim() !== ''),
  document: taxDocuments,
});

describe('tax document of a buyer', () => {
  it('occurs in no event of the sale and of its refund, for any buyer', async () => {
    const { db } = await testDeps();
    await fc.assert(
      fc.asyncProperty(buyers, async ({ name, document }) => {
        const shop = await buildShop();
        await buildEndpoint(shop.club.id, 'https://receiver.example.com', eventTypes);
        const buyer = { email: `${newId()}@example.com`, name, document, tax_document: document, cpf: document };
        const notices = (['paid', 'refunded'] as const).map((event) => purchaseNotice(shop, event, { buyer }));
        expect(await sell(shop, ...notices)).to.deep.equal(['processed', 'processed']);

        const facts = await db.source.query<FactToTell[]>(
          `SELECT id, club_id AS "clubId", type, student_id AS "studentId", subject_id AS "subjectId", details,
                  occurred_at AS "occurredAt" FROM facts WHERE club_id = $1 ORDER BY seq`,
          [shop.club.id],
        );
        for (const fact of facts) await fanOut(db, fact, new Date());
        const events = await db.source.query<{ body: string }[]>(
          `SELECT body FROM webhook_bodies JOIN webhook_events event ON event.id = event_id WHERE event.club_id = $1`,
          [shop.club.id],
        );
        expect(events).to.have.length(5); // created, paid, granted, refunded, revoked
        expect(events.filter(({ body }) => body.includes(document))).to.deep.equal([]);
      }),
      { numRuns: 30 },
    );
  }).timeout(60_000);
});
