/** The answers of the context `community` to the questions that concern every context (domain/questions.ts). */
import { CommunityComment } from '../../entities/community/community-comment.ts';
import { CommunityMembership } from '../../entities/community/community-membership.ts';
import { CommunityModeration } from '../../entities/community/community-moderation.ts';
import { CommunityPost } from '../../entities/community/community-post.ts';
import { CommunityPostFile } from '../../entities/community/community-post-file.ts';
import { CommunityReaction } from '../../entities/community/community-reaction.ts';
import { CommunityReport } from '../../entities/community/community-report.ts';
import { CommunitySpace } from '../../entities/community/community-space.ts';
import { Media } from '../../entities/media/media.ts';
import { SpaceDigest } from '../../entities/community/space-digest.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeCommunity } from './closing.ts';
import { retainDigests } from './digests/retention.ts';
import { retainModeration } from './moderation.ts';
import { purgeStudentFromCommunity } from './student-removal.ts';
import { exportCommunity } from './student-export.ts';

export const communityParts = {
  closeClub: closeCommunity,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromCommunity(tx, studentId, now),
  exportStudent: exportCommunity,
  changeEmail: null,
  clubRows: [
    { of: CommunityComment, by: { parent: CommunityPost, column: 'postId' } },
    { of: CommunityMembership, by: { parent: CommunitySpace, column: 'spaceId' } },
    { of: CommunityModeration, by: 'club' },
    { of: CommunityPost, by: 'club' },
    { of: CommunityPostFile, by: { parent: Media, column: 'mediaId' } },
    { of: CommunityReaction, by: 'club' },
    { of: CommunityReport, by: { parent: CommunityPost, column: 'postId' } },
    { of: CommunitySpace, by: 'club' },
    { of: SpaceDigest, by: 'club' },
  ],
  retention: [{ run: ({ db }, now) => retainModeration(db, now) }, { run: ({ db }, now) => retainDigests(db, now) }],
} satisfies ContextQuestions;
