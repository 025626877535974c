/**
 * Adds, removes and counts reactions to posts and comments. There are six kinds, and a person can add each kind only once. Tallies count
 * the reactions (COMM-12).
 */
import { CommunityReaction } from '../../entities/community/community-reaction.ts';
import { reactionKinds, type ReactionKind } from '../../entities/community/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { countEach } from '../../platform/infra/postgres/lists/counts.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { Voice } from './voices.ts';

const lists = reactionKinds.map((kind) => `reactions_${kind}` as const);

/** Adds a reaction. A second call changes nothing. The caller has checked that the person may react. */
export async function addReaction(
  tx: Transaction,
  voice: Voice,
  targetId: Id,
  kind: ReactionKind,
  now: Date,
): Promise<void> {
  await tx.run(sql`INSERT INTO community_reactions (target_id, author_id, kind, club_id, created_at)
    VALUES (${targetId}, ${voice.id}, ${kind}, ${voice.clubId}, ${now}) ON CONFLICT DO NOTHING`);
}

/** Removes a reaction. A second call changes nothing. */
export async function removeReaction(tx: Transaction, voice: Voice, targetId: Id, kind: ReactionKind): Promise<void> {
  await tx.manager.delete(CommunityReaction, { targetId, authorId: voice.id, kind });
}

/** @returns a function that gives the reactions to a post or a comment: each kind with a count above 0, in the order of the API contract */
export async function reactionsTo(
  db: Queries,
  voice: Voice,
  targetIds: readonly Id[],
): Promise<(targetId: Id) => RecordOf<'ReactionCount'>[]> {
  if (targetIds.length === 0) return () => [];
  const countOf = await countEach(db, voice.clubId, { lists, subjectIds: targetIds });
  const ownReactions = await db.rows<Pick<CommunityReaction, 'targetId' | 'kind'>>(sql`
    SELECT ${columns(CommunityReaction, ['targetId', 'kind'])} FROM community_reactions
     WHERE target_id = ANY (${targetIds}::uuid[]) AND author_id = ${voice.id}`);
  const isOwn = new Set(ownReactions.map(({ targetId, kind }) => `${targetId} ${kind}`));
  return (targetId) =>
    reactionKinds.flatMap((kind) => {
      const count = countOf({ list: `reactions_${kind}`, subjectId: targetId, marked: false });
      return count > 0 ? [{ kind, count, own: isOwn.has(`${targetId} ${kind}`) }] : [];
    });
}
