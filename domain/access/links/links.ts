/** Registration links as administrators keep them. */
import { IsNull } from 'typeorm';
import { RegistrationLink } from '../../../entities/access/registration-link.ts';
import { RegistrationLinkDelivery } from '../../../entities/access/registration-link-delivery.ts';
import { randomInt } from 'node:crypto';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { violates } from '../../../platform/infra/postgres/errors.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { changedInstant, optionalInstant } from '../../../platform/core/instants.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text.policy.ts';
import { requireDeliveries } from '../deliveries/deliveries.ts';
import { noLink } from './links.policy.ts';

type RegistrationLinkRecord = RecordOf<'RegistrationLink'>;

/** Where classrooms are: `{slug}` stands for the club's. */
export interface Classrooms {
  classroomUrl: string;
}

interface LinkRow {
  id: Id;
  code: string;
  name: string;
  deliveries: { id: Id; name: string }[];
  maxUses: number | null;
  uses: number;
  expiresAt: Date | null;
  revokedAt: Date | null;
  createdAt: Date;
  slug: string;
}

const selected = `SELECT link.id, link.code, link.name, link.max_uses AS "maxUses", link.uses, link.expires_at AS "expiresAt",
    link.revoked_at AS "revokedAt", link.created_at AS "createdAt", club.slug,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', delivery.id, 'name', delivery.name)
                               ORDER BY delivery.created_at, delivery.id), '[]')
       FROM registration_link_deliveries given JOIN access_deliveries delivery ON delivery.id = given.delivery_id
      WHERE given.link_id = link.id) AS deliveries
  FROM registration_links link JOIN clubs club ON club.id = link.club_id`;

function presentLink(link: LinkRow, { classroomUrl }: Classrooms): RegistrationLinkRecord {
  return {
    id: link.id,
    code: link.code,
    name: link.name,
    deliveries: link.deliveries,
    ...(link.maxUses !== null && { max_uses: link.maxUses }),
    uses: link.uses,
    ...(link.expiresAt !== null && { expires_at: link.expiresAt.toISOString() }),
    ...(link.revokedAt !== null && { revoked_at: link.revokedAt.toISOString() }),
    url: `${classroomUrl.replace('{slug}', link.slug)}/join/${link.code}`,
    created_at: link.createdAt.toISOString(),
  };
}

/** @returns a page of the club's links, newest first */
export async function listLinks(
  db: Queries,
  at: Classrooms,
  clubId: Id,
  page: PageRequest,
): Promise<Page<RegistrationLinkRecord>> {
  const { limit, offset } = windowOf(page);
  const counted = await db.one<{ total: number }>(
    sql`SELECT count(*)::int AS total FROM registration_links WHERE club_id = ${clubId}`,
  );
  const rows = await db.rows<LinkRow>(
    sql`${raw(selected)} WHERE link.club_id = ${clubId} ORDER BY link.created_at DESC, link.id DESC LIMIT ${limit} OFFSET ${offset}`,
  );
  return { rows: rows.map((row) => presentLink(row, at)), total: counted?.total ?? 0 };
}

/** @throws DomainError not_found */
export async function findLink(
  db: Queries,
  at: Classrooms,
  clubId: Id,
  linkId: Id,
  lock = '',
): Promise<RegistrationLinkRecord> {
  const link = await db.one<LinkRow>(
    sql`${raw(selected)} WHERE link.id = ${linkId} AND link.club_id = ${clubId} ${raw(lock)}`,
  );
  if (!link) throw noLink();
  return presentLink(link, at);
}

const letters = '23456789abcdefghjkmnpqrstuvwxyz';
const madeLength = 10; // 31^10: nobody guesses one at the rate that the classroom's limit lets them try

/** @returns a code for whoever chooses none, without characters that are taken for others */
function madeCode(): string {
  return Array.from({ length: madeLength }, () => letters[randomInt(letters.length)]).join('');
}

/**
 * @param input.code absent for one that is made
 * @throws DomainError not_found (delivery), code_taken, invalid_request (it would be expired already)
 */
export async function createLink(
  { db, ...classrooms }: DatabaseDeps & Classrooms,
  clubId: Id,
  input: { name: string; code?: string; delivery_ids: readonly Id[]; max_uses?: number; expires_at?: string },
  now: Date,
): Promise<RegistrationLinkRecord> {
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'registration_links');
    const expiresAt = optionalInstant(input.expires_at, 'expires_at') ?? null;
    if (expiresAt !== null && expiresAt <= now)
      throw new DomainError('invalid_request', '`expires_at` must be in the future.');
    await requireDeliveries(tx, clubId, input.delivery_ids);
    const id = newId();
    const code = input.code ?? madeCode();
    await tx
      .query(
        `INSERT INTO registration_links (id, club_id, code, folded_code, name, max_uses, expires_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
        [id, clubId, code, code.toLowerCase(), tidyName(input.name), input.max_uses ?? null, expiresAt, now],
      )
      .catch((error: unknown) => {
        throw violates(error, 'registration_links_club_code') ? codeTaken() : error;
      });
    await setDeliveries(tx, id, input.delivery_ids);
    return findLink(tx, classrooms, clubId, id);
  });
}

const codeTaken = () => new DomainError('code_taken', 'Another registration link of this club has this code.');

/**
 * Changes what is given; what is absent stays. Who has claimed the link keeps what it gave.
 * @param input.max_uses 0 takes the limit away
 * @param input.expires_at the empty text takes it away; a past time ends the link
 * @throws DomainError not_found (link or delivery)
 */
export async function updateLink(
  { db, ...classrooms }: DatabaseDeps & Classrooms,
  clubId: Id,
  linkId: Id,
  input: { name?: string; delivery_ids?: readonly Id[]; max_uses?: number; expires_at?: string },
  now: Date,
): Promise<RegistrationLinkRecord> {
  return db.transaction(async (tx) => {
    const expiresAt = changedInstant(input.expires_at, 'expires_at');
    await findLink(tx, classrooms, clubId, linkId, 'FOR NO KEY UPDATE OF link');
    if (input.delivery_ids) {
      await requireDeliveries(tx, clubId, input.delivery_ids);
      await setDeliveries(tx, linkId, input.delivery_ids);
    }
    await tx.query(
      `UPDATE registration_links
          SET name = coalesce($2, name), max_uses = CASE WHEN $3::int IS NULL THEN max_uses ELSE nullif($3, 0) END,
              expires_at = CASE WHEN $4 THEN $5 ELSE expires_at END, updated_at = $6
        WHERE id = $1`,
      [
        linkId,
        input.name === undefined ? null : tidyName(input.name),
        input.max_uses ?? null,
        expiresAt !== undefined,
        expiresAt ?? null,
        now,
      ],
    );
    return findLink(tx, classrooms, clubId, linkId);
  });
}

/** Nobody can claim it any more; revoking it once more changes nothing. @throws DomainError not_found */
export async function revokeLink(
  { db, ...classrooms }: DatabaseDeps & Classrooms,
  clubId: Id,
  linkId: Id,
  now: Date,
): Promise<RegistrationLinkRecord> {
  return db.transaction(async (tx) => {
    await tx.manager.update(
      RegistrationLink,
      { id: linkId, clubId, revokedAt: IsNull() },
      { revokedAt: now, updatedAt: now },
    );
    return findLink(tx, classrooms, clubId, linkId);
  });
}

async function setDeliveries(tx: Transaction, linkId: Id, deliveryIds: readonly Id[]): Promise<void> {
  await tx.manager.delete(RegistrationLinkDelivery, { linkId });
  await tx.run(
    sql`INSERT INTO registration_link_deliveries (link_id, delivery_id) SELECT DISTINCT ${linkId}::uuid, unnest(${deliveryIds}::uuid[])`,
  );
}
