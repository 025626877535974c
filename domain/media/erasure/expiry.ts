/**
 * Removes videos that expire. A recording expires if the club's plan does not host videos. If a plan loses this feature, all videos of the
 * club expire (MED-10). The run `media-expiry/<id>` warns the administrators, and later removes the file.
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
import { eraseImmediately, removeMediaIn } from './erasure.ts';
import { expiryRules } from '../media.policy.ts';
import type { LibraryDeps } from '../media.ts';

/** Both are null if the file does not expire. */
type Expiry = Pick<Media, 'expiresAt' | 'expiryLooksAt'>;
export const neverExpires: Expiry = { expiresAt: null, expiryLooksAt: null };

/**
 * Requires the plan's feature for a new video. The function locks the club's row, so the plan cannot change before the caller's transaction
 * commits. The caller calls this function immediately before it inserts the row.
 * @param recording whether the video is a recording of a live session or a meeting; if the plan does not have the feature, such a recording
 * is accepted and kept for 30 days
 * @returns the columns that the caller must insert. If the file expires, the caller must also wake the row's run `mediaExpiry`
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
  return !recording || (await hasFeature(tx, clubId, 'video_hosting')) ? neverExpires : expiryFrom(now);
}

const expiryFrom = (start: Date): { expiresAt: Date; expiryLooksAt: Date } => {
  const expires = start.getTime() + expiryRules.keepMs;
  return { expiresAt: new Date(expires), expiryLooksAt: new Date(expires - expiryRules.warningMs) };
};

const filesPerTransaction = 500;
const clubsPerRound = 20;

/**
 * Applies changes of the feature `video_hosting`. If the club's plan has gained this feature, no video of the club expires. If the plan has
 * lost the feature, all videos expire 30 days after the change. The function may be repeated, and may run twice at the same time.
 * @returns the number of changed files, and whether another round may be due immediately
 */
export async function followVideoHosting(db: Database, now: Date): Promise<{ changed: number; more: boolean }> {
  const clubs = await db.rows<Pick<ClubFeatureChange, 'clubId'>>(sql`
    SELECT ${columns(ClubFeatureChange, ['clubId'])} FROM club_feature_changes ORDER BY changed_at LIMIT ${clubsPerRound}`);
  let changed = 0;
  for (const { clubId } of clubs) changed += await db.transaction((tx) => followPlan(tx, clubId, now));
  return { changed, more: changed > 0 || clubs.length === clubsPerRound };
}

/**
 * Locks the files before the row that records the plan's change (ENG-6). The opposite order could cause a deadlock. A transaction that
 * removes a video holds the video's lock and waits for the club's lock. At the same time, the transaction that holds the club's lock may
 * wait for the row of the change. If the plan changes during this work, the next round applies the change.
 */
async function followPlan(tx: Transaction, clubId: Id, now: Date): Promise<number> {
  const stays = await hasFeature(tx, clubId, 'video_hosting');
  const otherwise = sql`club_id = ${clubId} AND purpose = 'library' AND kind = 'video' AND provider = 'hostedvideo_stream'
    AND removed_at IS NULL AND (expires_at IS NULL) <> ${stays}`;
  const files = await tx.rows<{ id: Id; clubId: Id }>(sql`
    SELECT id, club_id AS "clubId" FROM media WHERE ${otherwise} ORDER BY id LIMIT ${filesPerTransaction} FOR NO KEY UPDATE`);
  const change = await tx.one<Pick<ClubFeatureChange, 'changedAt'>>(sql`
    SELECT ${columns(ClubFeatureChange, ['changedAt'])} FROM club_feature_changes WHERE club_id = ${clubId} FOR UPDATE SKIP LOCKED`);
  if (!change || (await hasFeature(tx, clubId, 'video_hosting')) !== stays) return 0;
  const { expiresAt, expiryLooksAt } = stays ? neverExpires : expiryFrom(change.changedAt);
  const ids = files.map(({ id }) => id);
  await tx.manager.update(Media, { id: In(ids) }, { expiresAt, expiryLooksAt, expiryWarnedAt: null, updatedAt: now });
  if (files.length > 0) await wake(tx, 'mediaExpiry', files, now);
  // Deletes the row of the change only if it was applied to every file. The plan may have changed again, and files may have been added.
  await tx.run(sql`
    DELETE FROM club_feature_changes WHERE club_id = ${clubId} AND NOT EXISTS (SELECT FROM media WHERE ${otherwise})`);
  return files.length;
}

export type ExpiryStep =
  | { done: true; outcome: 'kept' | 'removed' }
  | { done: false; at: number; waitingFor: 'warning' | 'removal' };

/** @property vault computes the keyed hashes of the administrators' addresses */
export type ExpiryDeps = LibraryDeps & { vault: Vault };

/**
 * The step of the run `media-expiry/<id>`. It warns seven days before the file expires, and removes the expired file with its uses.
 * @param now Unix milliseconds
 */
export async function checkExpiry(deps: ExpiryDeps, id: Id, now: number): Promise<ExpiryStep> {
  const at = new Date(now);
  try {
    const result = await deps.db.transaction((tx) => warnOrRemove(tx, deps, id, at));
    if (result.state === 'removed') await eraseImmediately(deps, id, at);
    return stepOf(result);
  } catch (error) {
    if (error instanceof PlanChanged) return stepOf({ state: 'waiting', at, waitingFor: 'removal' });
    if (error instanceof DomainError && error.code === 'in_use') return stepOf(await deferRemoval(deps.db, id, at));
    throw error;
  }
}

type Result = { state: 'kept' | 'removed' } | { state: 'waiting'; at: Date; waitingFor: 'warning' | 'removal' };

/** The plan has gained the feature during the removal of the file. The removal is rolled back. */
class PlanChanged extends Error {}

function stepOf(result: Result): ExpiryStep {
  if (result.state === 'waiting') return { done: false, at: result.at.getTime(), waitingFor: result.waitingFor };
  return { done: true, outcome: result.state };
}

/**
 * This transaction holds the lock of the file. So a change of the plan is applied to the file either before or after the warning, but not
 * during it.
 */
async function warnOrRemove(tx: Transaction, deps: ExpiryDeps, id: Id, now: Date): Promise<Result> {
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
  // The plan may have the feature again, but upkeep needs some minutes to apply it. Until then, a due file must stay.
  if (await hasFeature(tx, clubId, 'video_hosting')) {
    await tx.manager.update(Media, { id }, { ...neverExpires, expiryWarnedAt: null });
    return { state: 'kept' };
  }
  if (expiryWarnedAt !== null) {
    await removeMediaIn(tx, deps, { clubId, mediaId: id }, now, { force: true });
    // The removal holds the lock of the club's row. So a change of the plan is either visible here or comes after the removal.
    if (await hasFeature(tx, clubId, 'video_hosting')) throw new PlanChanged();
    return { state: 'removed' };
  }
  // If the workers were down for a week, the warning is late. The file still stays for a whole week after it.
  const removedAt = new Date(Math.max(expiresAt.getTime(), now.getTime() + expiryRules.warningMs));
  await warnOnceADay(tx, deps.vault, clubId, now);
  await tx.manager.update(Media, { id }, { expiresAt: removedAt, expiryLooksAt: removedAt, expiryWarnedAt: now });
  return { state: 'waiting', at: removedAt, waitingFor: 'removal' };
}

/**
 * Requests one warning for all files whose last week starts on the same day. The function locks the club's row. So if two transactions
 * handle two files at the same time, the second transaction sees that the first has sent the warning.
 */
async function warnOnceADay(tx: Transaction, vault: Vault, clubId: Id, now: Date): Promise<void> {
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  const since = new Date(now.getTime() - expiryRules.oneWarningMs);
  const earlierWarning = await tx.one(sql`
    SELECT FROM media WHERE club_id = ${clubId} AND expiry_warned_at > ${since} AND expires_at IS NOT NULL LIMIT 1`);
  if (earlierWarning) return;
  const administrators = await tx.rows<{ id: Id; email: string }>(sql`
    SELECT administrator.id, administrator.email
      FROM memberships JOIN administrators administrator ON administrator.id = memberships.administrator_id
     WHERE memberships.club_id = ${clubId} AND memberships.role IN ('owner', 'admin') AND administrator.removed_at IS NULL
     ORDER BY administrator.id`);
  for (const { id: administratorId, email } of administrators)
    await requestMail(tx, vault, { template: 'media_expiring', clubId, recipient: { administratorId }, email }, now);
}

async function deferRemoval(db: Database, id: Id, now: Date): Promise<Result> {
  const at = new Date(now.getTime() + expiryRules.inUseMs);
  await db.run(sql`UPDATE media SET expiry_looks_at = ${at} WHERE id = ${id} AND expires_at IS NOT NULL`);
  return { state: 'waiting', at, waitingFor: 'removal' };
}
