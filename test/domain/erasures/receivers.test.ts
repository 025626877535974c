/** Tests the list of receivers of `student.removed`, which outlives the rows of deliveries (ERS-33). */
import { expect } from 'chai';
import { readReceivers, receiversFinalAfterMs, storeFinalReceivers } from '../../../domain/erasures/receivers.ts';
import { fanOut } from '../../../domain/webhooks/events/fan-out.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildErasure } from '../../toolkit/builders/erasures.ts';
import { buildEndpoint, factAbout } from '../../toolkit/builders/webhooks.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

async function buildDelivery() {
  const { db } = await testDeps();
  const { id: clubId } = await buildClub();
  const endpoint = await buildEndpoint(clubId, 'https://93.184.216.34/hooks');
  const { id: studentId } = await buildStudent(clubId);
  await fanOut(db, factAbout({ clubId, studentId }, 'student.updated'), new Date());
  await db.run(sql`UPDATE students SET removed_at = now(), email = NULL, email_key = NULL WHERE id = ${studentId}`);
  const [delivery] = await fanOut(db, factAbout({ clubId, studentId }, 'student.removed'), new Date());
  if (!delivery) throw new Error('Fan-out created no delivery');
  return { db, clubId, studentId, endpointId: endpoint.id, deliveryId: delivery.id };
}

const receiversOf = async (id: Id) => {
  const { db } = await testDeps();
  return db.one<{ receivers: unknown; isFinal: boolean }>(
    sql`SELECT receivers, receivers_final AS "isFinal" FROM erasures WHERE id = ${id}`,
  );
};

describe('the receivers of a removal', () => {
  it('are the endpoints of student.removed alone, and have a time once they acknowledged', async () => {
    const { db, clubId, studentId, endpointId, deliveryId } = await buildDelivery();
    const pending = { endpointId, deliveryId, status: 'pending', acknowledgedAt: null };
    expect(await readReceivers(db, clubId, studentId)).to.deep.equal([pending]);
    const at = '2026-11-02T09:15:04.000Z';
    await db.run(sql`UPDATE webhook_deliveries SET status = 'failed', completed_at = ${at} WHERE id = ${deliveryId}`);
    expect(await readReceivers(db, clubId, studentId)).to.deep.equal([{ ...pending, status: 'failed' }]);
    await db.run(sql`UPDATE webhook_deliveries SET status = 'succeeded' WHERE id = ${deliveryId}`);
    expect(await readReceivers(db, clubId, studentId)).to.deep.equal([
      { ...pending, status: 'succeeded', acknowledgedAt: at },
    ]);
    expect(await readReceivers(db, newId(), studentId)).to.deep.equal([]);
  });

  it('are stored 45 days after the end of the erasure, and include deliveries whose rows are gone', async () => {
    const { db, clubId, studentId, endpointId, deliveryId } = await buildDelivery();
    const deleted = { endpointId: newId(), deliveryId: newId(), status: 'failed' as const, acknowledgedAt: null };
    const pending = { endpointId, deliveryId, status: 'pending' as const, acknowledgedAt: null };
    const completedAt = new Date();
    const { id } = await buildErasure({
      kind: 'student',
      subjectId: studentId,
      clubId,
      completedAt,
      receivers: [deleted, pending],
    });
    const at = '2026-11-02T09:15:04.000Z';
    await db.run(
      sql`UPDATE webhook_deliveries SET status = 'succeeded', completed_at = ${at} WHERE id = ${deliveryId}`,
    );
    const due = completedAt.getTime() + receiversFinalAfterMs;
    expect(await storeFinalReceivers(db, new Date(due - 1))).to.deep.equal({ stored: 0, more: false });
    expect(await storeFinalReceivers(db, new Date(due))).to.deep.equal({ stored: 1, more: false });
    const succeeded = { ...pending, status: 'succeeded', acknowledgedAt: at };
    const inOrder = [deleted, succeeded].toSorted((one, other) => (one.deliveryId < other.deliveryId ? -1 : 1));
    expect(await receiversOf(id)).to.deep.equal({ receivers: inOrder, isFinal: true });
    expect(await storeFinalReceivers(db, new Date(due))).to.deep.equal({ stored: 0, more: false });
  });
});
