/** Builds the clubs of `faults erasure`: each has a row in nearly every table, objects under every prefix, and open runs. */
import type { DataSource } from 'typeorm';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { wake } from '../../../../platform/engine/wakes.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildFurnishedClub, type FurnishedClub } from '../../../toolkit/builders/furnished-club.ts';
import { buildProduct, buildSalesConnection } from '../../../toolkit/builders/sales.ts';
import { fillTables } from './fillings.ts';

export interface ProofClub extends FurnishedClub {
  /** A part of the addresses and names of its people, which occurs nowhere else. */
  word: string;
  /** The token of the door of its shop, and the product there. */
  shop: { token: string; productId: string };
}

/** No server listens at this address, so the deliveries of the club fail, wait and are parked. */
const deadUrl = 'https://127.0.0.1:9/hooks';

/** @returns the club, and the tables that have no row of it */
export async function buildProofClub(source: DataSource): Promise<{ club: ProofClub; empty: readonly string[] }> {
  const furnished = await buildFurnishedClub();
  const word = `quay${newId().slice(-8)}`;
  const { token } = await buildSalesConnection(furnished.id);
  const { externalId } = await buildProduct(furnished.id);
  await source.query(`UPDATE students SET name = 'Stella ' || $2, email = $3 WHERE id = $1`, [
    furnished.student.id,
    word,
    `stella@${word}.example`,
  ]);
  await source.query(`UPDATE clubs SET name = 'Harbour ' || $2 WHERE id = $1`, [furnished.id, word]);
  await source.query(`UPDATE webhook_endpoints SET url = $2 WHERE club_id = $1`, [furnished.id, deadUrl]);
  await source.query(
    `INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'business', 'active') ON CONFLICT (club_id) DO UPDATE SET plan = 'business'`,
    [furnished.id],
  );
  const empty = await fillTables(source, furnished);
  await settleRows(source, furnished);
  return { club: { ...furnished, word, shop: { token, productId: externalId } }, empty };
}

/** The furnished rows are due or under way without a run. They wait instead, so that an untouched club does not change. */
async function settleRows(source: DataSource, { id }: { id: Id }): Promise<void> {
  await source.query(`UPDATE mail_domains SET looks_at = now() + interval '20 days' WHERE club_id = $1`, [id]);
  await source.query(
    `UPDATE media SET processed_at = coalesce(processed_at, now()), looks_at = CASE WHEN looks_at IS NOT NULL THEN now() + interval '20 days' END
      WHERE club_id = $1`,
    [id],
  );
}

/**
 * Makes rows of the club wait in Temporal for days: runs of the automation, deliveries and e-mails. Some deliveries are parked.
 * @returns the number of runs
 */
export async function openRuns(db: Database, clubId: Id, count: number): Promise<number> {
  const now = new Date();
  const inDays = new Date(now.getTime() + 20 * 86_400_000);
  return db.transaction(async (tx) => {
    const runs = await tx.rows<{ id: Id; clubId: Id; automationId: Id }>(sql`
      UPDATE automation_runs SET status = 'active', error_code = NULL, ended_at = NULL, waiting = true, looks_at = ${inDays}, deadline = ${inDays}
       WHERE id IN (SELECT id FROM automation_runs WHERE club_id = ${clubId} LIMIT ${count})
      RETURNING id, club_id AS "clubId", automation_id AS "automationId"`);
    await wake(tx, 'automationRun', runs as never, now);
    const deliveries = await tx.rows<{ id: Id; clubId: Id; endpointId: Id; eventType: string }>(sql`
      UPDATE webhook_deliveries SET status = 'pending', completed_at = NULL, next_attempt_at = ${inDays}
       WHERE id IN (SELECT id FROM webhook_deliveries WHERE club_id = ${clubId} LIMIT ${count})
      RETURNING id, club_id AS "clubId", endpoint_id AS "endpointId", event_type AS "eventType"`);
    await wake(tx, 'webhookDelivery', deliveries as never, now);
    const mails = await tx.rows<{ id: Id; clubId: Id }>(sql`
      UPDATE transactional_mails SET status = 'pending', sent_at = NULL, next_attempt_at = ${inDays}
       WHERE id IN (SELECT id FROM transactional_mails WHERE club_id = ${clubId} LIMIT ${count})
      RETURNING id, club_id AS "clubId"`);
    await wake(tx, 'transactionalMail', mails as never, now);
    await tx.run(sql`
      UPDATE webhook_deliveries SET status = 'pending', completed_at = NULL, parked_at = ${now}
       WHERE id IN (SELECT id FROM webhook_deliveries WHERE club_id = ${clubId} AND status = 'succeeded' LIMIT ${count})`);
    return runs.length + deliveries.length + mails.length;
  });
}
