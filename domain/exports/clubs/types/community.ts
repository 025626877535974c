/** The community of a club: spaces, members, posts, comments, and what moderators did. */
import { listComments } from '../../../community/comments.ts';
import { listMembers } from '../../../community/members.ts';
import { listModerations } from '../../../community/moderation.ts';
import { listPosts } from '../../../community/posts.ts';
import { listReports } from '../../../community/reports.ts';
import { listSpaces } from '../../../community/spaces.ts';
import { below, chained, idOf, listed, listedBelow, type ExportSource } from '../pages.ts';
import type { RecordType } from '../record-type.ts';

const spaces = listed(({ db, storage, clubId }, page) => listSpaces(db, storage, clubId, page));

const voiceOf = ({ clubId, administratorId }: ExportSource) => ({
  kind: 'admin' as const,
  clubId,
  id: administratorId,
});

const posts = below(spaces, idOf, (source, { id = '' }, place) =>
  listed((from, page) => listPosts(from.db, from.storage, voiceOf(from), id, page, from.now))(source, place),
);

export const community: readonly RecordType[] = [
  { name: 'Space', walk: spaces },
  {
    name: 'SpaceMember',
    walk: chained(
      listedBelow(spaces, 'spaceId', ({ db, clubId, now }, spaceId, page) =>
        listMembers(db, { clubId, spaceId }, page, now),
      ),
      listedBelow(spaces, 'spaceId', ({ db, clubId, now }, spaceId, page) =>
        listMembers(db, { clubId, spaceId }, { ...page, status: 'banned' }, now),
      ),
    ),
  },
  { name: 'CommunityPost', walk: posts },
  {
    name: 'CommunityComment',
    walk: below(
      posts,
      ({ record }) => ({ publicId: String(record['public_id']) }),
      async (source, { publicId = '' }, place) => {
        const { lines, ...rest } = await listed((from, page) =>
          listComments(from.db, from.storage, voiceOf(from), publicId, page, from.now),
        )(source, place);
        return { ...rest, lines: lines.map(({ record }) => ({ of: { publicId }, record })) };
      },
    ),
  },
  { name: 'CommunityReport', walk: listed(({ db, clubId }, page) => listReports(db, clubId, page)) },
  { name: 'CommunityModeration', walk: listed(({ db, clubId }, page) => listModerations(db, clubId, page)) },
];
