/**
 * Videos of a library that end: a recording in a club whose plan does not host videos, and every video once the plan does so no
 * more (MED-10). The run `media-expiry/<id>` warns the club's administrators, then removes the file.
 */
import { In } from 'typeorm';
import { ClubFeatureChange } from '../../../entities/billing/club-feature-change.ts';
import { Media } from '../../../entities/media/media.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { hasFeature, requireFeature } from '../../billing/allowances.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import { eraseAtOnce, removeMediaIn } from './erasure.ts';
import { expiryRules } from '../media.policy.ts';
import type { LibraryDeps } from '../media.ts';

/** When a file expires, and when its run looks at it; null: it stays. */
type Expiry = Pick<Media, 'expiresAt' | 'expiryLooksAt'>;
export const keptForGood: Expiry = { expiresAt: null, expiryLooksAt: null };

/**
 * What a video that is about to be reserved needs. A change of the plan waits until the caller has committed, or comes before:
 * each video follows the plan that stands in the end. To be called last before the row is inserted: it locks the club's row.
 * @param recording of a live session or a meeting: it may be uploaded without the feature, and is kept for 30 days then
 * @returns what to insert; where it expires, the caller wakes the run `mediaExpiry` of the row
 * @throws DomainError feature_not_in_plan
 */
export async function requireVideoHosting(
  tx: Transaction,
  clubId: Id,
  { recording = false }: { recording?: boolean },
  now: Date,
): Promise<Expiry> {
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR SHARE`);
  if (!recording) await requireFeature(tx, clubId, 'video_hosting');
  return !recording || (await hasFeature(tx, clubId, 'video_hosting')) ? keptForGood : expiryFrom(now);
}

const expiryFrom = (start: Date): { expiresAt: Date; expiryLooksAt: Date } => {
  const expires = start.getTime() + expiryRules.keptMs;
  return { expiresAt: new Date(expires), expiryLooksAt: new Date(expires - expiryRules.warnedMs) };
};

/** Files of a club that a transaction changes at most. */
const filesAtOnce = 500;
/** Clubs of a round. */
const clubsPerRound = 20;

/**
 * Follows plans that have gained or lost `video_hosting`: the former keeps every video, the latter lets them end 30 days after the
 * change. Safe to repeat and to run twice at once.
 * @returns how many files it changed, and whether there may be more to do at once
 */
export async function followVideoHosting(db: Database, now: Date): Promise<{ changed: number; more: boolean }> {
  const clubs = await db.rows<Pick<ClubFeatureChange, 'clubId'>>(sql`
    SELECT ${columns(ClubFeatureChange, ['clubId'])} FROM club_feature_changes ORDER BY changed_at LIMIT ${clubsPerRound}`);
  let changed = 0;
  for (const { clubId } of clubs) changed += await db.transaction((tx) => followPlan(tx, clubId, now));
  return { changed, more: changed > 0 || clubs.length === clubsPerRound };
}

/**
 * Locks files before the row of the change: who removes a video holds it and waits for the club, whose holder may wait for that row
 * (ENG-6). A plan that changes meanwhile is followed in the next round.
 */
async function followPlan(tx: Transaction, clubId: Id, now: Date): Promise<number> {
  const stays = await hasFeature(tx, clubId, 'video_hosting');
  const otherwise = sql`club_id = ${clubId} AND purpose = 'library' AND kind = 'video' AND provider = 'hostedvideo_stream'
    AND removed_at IS NULL AND (expires_at IS NULL) <> ${stays}`;
  const files = await tx.rows<{ id: Id; clubId: Id }>(sql`
    SELECT id, club_id AS "clubId" FROM media WHERE ${otherwise} ORDER BY id LIMIT ${filesAtOnce} FOR NO KEY UPDATE`);
  const change = await tx.one<Pick<ClubFeatureChange, 'changedAt'>>(sql`
    SELECT ${columns(ClubFeatureChange, ['changedAt'])} FROM club_feature_changes WHERE club_id = ${clubId} FOR UPDATE SKIP LOCKED`);
  if (!change || (await hasFeature(tx, clubId, 'video_hosting')) !== stays) return 0;
  const { expiresAt, expiryLooksAt } = stays ? keptForGood : expiryFrom(change.changedAt);
  const ids = files.map(({ id }) => id);
  await tx.manager.update(Media, { id: In(ids) }, { expiresAt, expiryLooksAt, expiryWarnedAt: null, updatedAt: now });
  if (files.length > 0) await wake(tx, 'mediaExpiry', files, now);
  // Since the files were looked for, the plan may have changed twice, and a file may have come between.
  await tx.run(sql`
    DELETE FROM club_feature_changes WHERE club_id = ${clubId} AND NOT EXISTS (SELECT FROM media WHERE ${otherwise})`);
  return files.length;
}

export type ExpiryStep =
  | { done: true; outcome: 'kept' | 'removed' }
  | { done: false; at: number; waitingFor: 'warning' | 'removal' };

/** @property vault makes keys of the administrators' addresses */
export type ExpiryDeps = LibraryDeps & { vault: Vault };

/**
 * A step of `media-expiry/<id>`: warns seven days before the file expires, removes it then, and says when to look again. What uses
 * the file loses it.
 * @param now Unix milliseconds
 */
export async function lookAtExpiry(deps: ExpiryDeps, id: Id, now: number): Promise<ExpiryStep> {
  const at = new Date(now);
  try {
    const found = await deps.db.transaction((tx) => warnOrRemove(tx, deps, id, at));
    if (found.state === 'removed') await eraseAtOnce(deps, id, at);
    return stepOf(found);
  } catch (error) {
    if (error instanceof PlanChanged) return stepOf({ state: 'waiting', at, waitingFor: 'removal' });
    if (error instanceof DomainError && error.code === 'in_use') return stepOf(await putOff(deps.db, id, at));
    throw error;
  }
}

type Found = { state: 'kept' | 'removed' } | { state: 'waiting'; at: Date; waitingFor: 'warning' | 'removal' };

/** The plan has gained the feature while the file was being removed: nothing of the removal stays. */
class PlanChanged extends Error {}

function stepOf(found: Found): ExpiryStep {
  if (found.state === 'waiting') return { done: false, at: found.at.getTime(), waitingFor: found.waitingFor };
  return { done: true, outcome: found.state };
}

/** Under the file's lock: a change of the plan that comes at this moment comes before or after the warning. */
async function warnOrRemove(tx: Transaction, deps: ExpiryDeps, id: Id, now: Date): Promise<Found> {
  const file = await tx.manager.findOne(Media, {
    where: { id },
    select: { id: true, clubId: true, removedAt: true, expiresAt: true, expiryLooksAt: true, expiryWarnedAt: true },
    lock: { mode: 'pessimistic_write' },
  });
  if (!file || file.removedAt !== null) return { state: 'removed' };
  const { clubId, expiresAt, expiryLooksAt, expiryWarnedAt } = file;
  if (expiresAt === null || expiryLooksAt === null) return { state: 'kept' };
  if (expiryLooksAt > now) {
    const waitingFor = expiryWarnedAt === null ? 'warning' : 'removal';
    return { state: 'waiting', at: expiryLooksAt, waitingFor };
  }
  // Upkeep follows a change of the plan within minutes: what is due before that must not go.
  if (await hasFeature(tx, clubId, 'video_hosting')) {
    await tx.manager.update(Media, { id }, { ...keptForGood, expiryWarnedAt: null });
    return { state: 'kept' };
  }
  if (expiryWarnedAt !== null) {
    await removeMediaIn(tx, deps, { clubId, mediaId: id }, now, { force: true });
    // The removal holds the club's row: a change of the plan has come before it and is seen now, or comes after it.
    if (await hasFeature(tx, clubId, 'video_hosting')) throw new PlanChanged();
    return { state: 'removed' };
  }
  // A worker that was away for a week warns late, and the file stays for the whole week.
  const removedAt = new Date(Math.max(expiresAt.getTime(), now.getTime() + expiryRules.warnedMs));
  await warnOnceADay(tx, deps.vault, clubId, now);
  await tx.manager.update(Media, { id }, { expiresAt: removedAt, expiryLooksAt: removedAt, expiryWarnedAt: now });
  return { state: 'waiting', at: removedAt, waitingFor: 'removal' };
}

/**
 * One mail tells of all files whose week begins on that day. The club's row is locked: of two files at once one finds the other's
 * warning.
 */
async function warnOnceADay(tx: Transaction, vault: Vault, clubId: Id, now: Date): Promise<void> {
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  const since = new Date(now.getTime() - expiryRules.oneWarningMs);
  const warned = await tx.one(sql`
    SELECT FROM media WHERE club_id = ${clubId} AND expiry_warned_at > ${since} AND expires_at IS NOT NULL LIMIT 1`);
  if (warned) return;
  const administrators = await tx.rows<{ id: Id; email: string }>(sql`
    SELECT administrator.id, administrator.email
      FROM memberships JOIN administrators administrator ON administrator.id = memberships.administrator_id
     WHERE memberships.club_id = ${clubId} AND memberships.role IN ('owner', 'admin') ORDER BY administrator.id`);
  for (const { id: administratorId, email } of administrators)
    await requestMail(tx, vault, { template: 'media_expiring', clubId, recipient: { administratorId }, email }, now);
}

async function putOff(db: Database, id: Id, now: Date): Promise<Found> {
  const at = new Date(now.getTime() + expiryRules.inUseMs);
  await db.run(sql`UPDATE media SET expiry_looks_at = ${at} WHERE id = ${id} AND expires_at IS NOT NULL`);
  return { state: 'waiting', at, waitingFor: 'removal' };
}
