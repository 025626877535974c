/**
 * The data of the context `community` in the export of a student (EXP-3). Another author is "another member" or "the club". The reasons of
 * moderators are internal.
 */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportCommunity: ExportStudent = ({ studentId }) => ({
  sections: {
    space_memberships: {
      records: sql`
        SELECT space.id AS space_id, space.name AS space_name, member.joined_at, member.left_at, member.banned_at, member.read_at,
               member.muted, member.digest
          FROM community_memberships member JOIN community_spaces space ON space.id = member.space_id
         WHERE member.student_id = ${studentId} ORDER BY member.joined_at, space.id`,
    },
    posts: {
      records: sql`
        SELECT post.public_id, space.name AS space_name, post.title, post.body,
               ARRAY(SELECT media_id FROM community_post_files WHERE post_id = post.id ORDER BY position) AS file_ids,
               post.hidden_at, post.created_at, post.edited_at
          FROM community_posts post JOIN community_spaces space ON space.id = post.space_id
         WHERE post.student_id = ${studentId} AND post.state = 'published' ORDER BY post.created_at, post.id`,
    },
    post_comments: {
      records: sql`
        SELECT comment.id, post.public_id AS post_public_id, comment.reply_to, comment.body, comment.hidden_at, comment.created_at,
               comment.edited_at
          FROM community_comments comment JOIN community_posts post ON post.id = comment.post_id
         WHERE comment.student_id = ${studentId} AND comment.state = 'published' ORDER BY comment.created_at, comment.id`,
    },
    replies: {
      records: sql`
        SELECT reply.id, post.public_id AS post_public_id, reply.reply_to,
               CASE WHEN reply.student_id IS NULL THEN 'the club' ELSE 'another member' END AS author, reply.body, reply.created_at
          FROM community_comments reply JOIN community_posts post ON post.id = reply.post_id
         WHERE reply.id IN (
                 SELECT answer.id FROM community_posts own JOIN community_comments answer ON answer.post_id = own.id
                  WHERE own.student_id = ${studentId}
                  UNION
                 SELECT answer.id FROM community_comments own JOIN community_comments answer ON answer.reply_to = own.id
                  WHERE own.student_id = ${studentId})
           AND reply.student_id IS DISTINCT FROM ${studentId} AND reply.state = 'published' AND reply.hidden_at IS NULL
         ORDER BY reply.created_at, reply.id`,
    },
    reactions: {
      records: sql`
        SELECT target_id, kind, created_at FROM community_reactions
         WHERE author_id = ${studentId} ORDER BY created_at, target_id, kind`,
    },
    reports: {
      records: sql`
        SELECT id, target_id, reason, outcome, created_at, settled_at
          FROM community_reports WHERE student_id = ${studentId} ORDER BY created_at, id`,
    },
  },
});
