/**
 * Removes a student from the community (COMM-16): memberships, reactions, reports, texts, and the reasons that other people gave about
 * these texts.
 */
import { CommunityMembership } from '../../entities/community/community-membership.ts';
import { CommunityReaction } from '../../entities/community/community-reaction.ts';
import { CommunityReport } from '../../entities/community/community-report.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { othersCommented } from './posts.ts';

/**
 * Deletes a removed student's data in the community, except the student's files, which the media context erases. Comments and replies of
 * other people stay. The student's posts and comments above them stay in lists without text. The caller holds the lock of the student.
 */
export async function purgeStudentFromCommunity(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await tx.manager.delete(CommunityMembership, { studentId });
  await tx.manager.delete(CommunityReaction, { authorId: studentId });
  await tx.manager.delete(CommunityReport, { studentId });
  // Deletes the reasons in reports and moderation of the student's texts, because a reason may name the student.
  const posts = sql`SELECT id FROM community_posts WHERE student_id = ${studentId}`;
  const comments = sql`SELECT id FROM community_comments WHERE student_id = ${studentId}`;
  await tx.run(sql`UPDATE community_reports SET reason = NULL, settled_at = coalesce(settled_at, ${now}), outcome = coalesce(outcome, 'upheld')
    WHERE target_id IN (${posts}) OR target_id IN (${comments})`);
  await tx.run(sql`UPDATE community_moderations SET reason = NULL
    WHERE reason IS NOT NULL AND (comment_id IN (${comments}) OR (comment_id IS NULL AND post_id IN (${posts})))`);
  // These two statements lock the posts and comments. So the statements after them see every reply that was being written. A later reply
  // finds that its post or comment is deleted.
  await tx.run(sql`${posts} AND state = 'published' ORDER BY id FOR NO KEY UPDATE`);
  await tx.run(sql`${comments} AND state = 'published' ORDER BY id FOR NO KEY UPDATE`);
  await tx.run(sql`DELETE FROM community_post_files WHERE post_id IN (${posts})`);
  await tx.run(sql`
    UPDATE community_posts post SET title = NULL, body = NULL, pinned = false, state = CASE WHEN ${othersCommented} THEN 'emptied' ELSE 'deleted' END
     WHERE post.student_id = ${studentId} AND post.state = 'published'`);
  await tx.run(sql`
    UPDATE community_comments comment SET body = NULL, state = CASE WHEN ${othersReplied} THEN 'emptied' ELSE 'deleted' END
     WHERE comment.student_id = ${studentId} AND comment.state = 'published'`);
}

/**
 * An SQL condition on `community_comments comment`. It is true if other people have replied. The author's own replies do not count, because
 * they are deleted, too.
 */
const othersReplied = sql`EXISTS (
  SELECT FROM community_comments reply
   WHERE reply.reply_to = comment.id AND reply.state <> 'deleted' AND reply.student_id IS DISTINCT FROM comment.student_id)`;
