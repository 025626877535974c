/** Lets administrators create, list, change and revoke registration links. */
import { IsNull } from 'typeorm';
import { Club } from '../../../entities/clubs/club.ts';
import { RegistrationLink } from '../../../entities/access/registration-link.ts';
import { RegistrationLinkDelivery } from '../../../entities/access/registration-link-delivery.ts';
import { randomInt } from 'node:crypto';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, given, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { violates } from '../../../platform/infra/postgres/errors.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { changedInstant, optionalInstant } from '../../../platform/core/time/instants.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import { requireDeliveries } from '../deliveries/deliveries.ts';
import { noLink, requireLongCode } from './links.policy.ts';

type RegistrationLinkRecord = RecordOf<'RegistrationLink'>;

/** The URL of the classrooms. `{slug}` stands for the club's slug. */
export interface Classrooms {
  classroomUrl: string;
}

const linkColumns = columns(
  RegistrationLink,
  ['id', 'code', 'name', 'maxUses', 'uses', 'expiresAt', 'revokedAt', 'createdAt'],
  'link',
).and(columns(Club, ['slug'], 'club')).and<{ deliveries: { id: Id; name: string }[] }>(sql`
    (SELECT coalesce(jsonb_agg(jsonb_build_object('id', delivery.id, 'name', delivery.name)
                               ORDER BY delivery.created_at, delivery.id), '[]')
       FROM registration_link_deliveries given JOIN access_deliveries delivery ON delivery.id = given.delivery_id
      WHERE given.link_id = link.id) AS deliveries`);
type LinkRow = RowOf<typeof linkColumns>;
const linksWithClub = sql`FROM registration_links link JOIN clubs club ON club.id = link.club_id`;

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
  const { rows, total, next } = await listPage(db, page, {
    columns: linkColumns,
    from: sql`${linksWithClub} WHERE link.club_id = ${clubId}`,
    counted: sql`FROM registration_links link WHERE link.club_id = ${clubId}`,
    orderBy: newestFirst('link'),
    changedAt: 'link.changed_at',
  });
  return { rows: rows.map((row) => presentLink(row, at)), total, next };
}

/** @throws DomainError not_found */
export async function findLink(
  db: Queries,
  at: Classrooms,
  clubId: Id,
  linkId: Id,
  lock = sql``,
): Promise<RegistrationLinkRecord> {
  const link = await db.one<LinkRow>(
    sql`SELECT ${linkColumns} ${linksWithClub} WHERE link.id = ${linkId} AND link.club_id = ${clubId} ${lock}`,
  );
  if (!link) throw noLink();
  return presentLink(link, at);
}

const letters = '23456789abcdefghjkmnpqrstuvwxyz';
const generatedLength = 10; // there are 31^10 codes, too many to guess at the rate that the classroom allows

/** @returns a random code without characters that look alike */
function generateCode(): string {
  return Array.from({ length: generatedLength }, () => letters[randomInt(letters.length)]).join('');
}

/**
 * @param input.code generated if absent
 * @throws DomainError not_found (no such delivery), code_taken, invalid_request (the new link would already be expired)
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
    if (input.code !== undefined) requireLongCode(input.code);
    const code = input.code ?? generateCode();
    await tx.manager
      .insert(RegistrationLink, {
        id,
        clubId,
        code,
        foldedCode: code.toLowerCase(),
        name: tidyName(input.name),
        maxUses: input.max_uses ?? null,
        expiresAt,
        createdAt: now,
        updatedAt: now,
      })
      .catch((error: unknown) => {
        throw violates(error, 'registration_links_club_code') ? codeTaken() : error;
      });
    await setDeliveries(tx, id, input.delivery_ids);
    return findLink(tx, classrooms, clubId, id);
  });
}

const codeTaken = () => new DomainError('code_taken', 'Another registration link of this club has this code.');

/**
 * Changes the fields of the link that `input` contains. Students who have claimed the link keep its deliveries.
 * @param input.max_uses how often the link can be claimed; 0 removes the limit
 * @param input.expires_at the new time of expiry. An empty text removes the expiry. A time in the past ends the link immediately
 * @throws DomainError not_found (no such link or delivery)
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
    await findLink(tx, classrooms, clubId, linkId, sql`FOR NO KEY UPDATE OF link`);
    if (input.delivery_ids) {
      await requireDeliveries(tx, clubId, input.delivery_ids);
      await setDeliveries(tx, linkId, input.delivery_ids);
    }
    const change = given({
      name: input.name === undefined ? undefined : tidyName(input.name),
      maxUses: input.max_uses === 0 ? null : input.max_uses,
      expiresAt,
      updatedAt: now,
    });
    await tx.manager.update(RegistrationLink, { id: linkId }, change);
    return findLink(tx, classrooms, clubId, linkId);
  });
}

/** Revokes a link, so that it cannot be claimed any more. A second call changes nothing. @throws DomainError not_found */
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
