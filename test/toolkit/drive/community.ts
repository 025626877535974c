/** Makes the calls of students and administrators in the community, over HTTP. */
import { fillSpace, type SpaceFillStep } from '../../../domain/joining/joining.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { TestClub } from '../builders/clubs.ts';
import { testDatabase, testDeps } from '../stack/database.ts';
import { call, type Answer } from './api.ts';
import { callsOf } from './club-calls.ts';

/** A student's calls. */
export function communityOf({ clubId }: { clubId: Id }, { token }: { token: string }) {
  const at = `/v1/clubs/${clubId}/classroom/community/spaces`;
  return {
    list: (query = ''): Promise<Answer> => call('GET', `${at}${query}`, { token }),
    read: (space: Id): Promise<Answer> => call('GET', `${at}/${space}`, { token }),
    join: (space: Id): Promise<Answer> => call('PUT', `${at}/${space}/membership`, { token }),
    leave: (space: Id): Promise<Answer> => call('DELETE', `${at}/${space}/membership`, { token }),
    change: (space: Id, body: object): Promise<Answer> => call('PATCH', `${at}/${space}/membership`, { token, body }),
    markRead: (space: Id, until: Date): Promise<Answer> =>
      call('POST', `${at}/${space}/read`, { token, body: { read_until: until.toISOString() } }),
  };
}

/** An administrator's calls. */
export function keepingSpacesOf(club: Pick<TestClub, 'id' | 'owner'>, token = club.owner.token) {
  const send = callsOf(club, token);
  const at = '/community/spaces';
  return {
    list: (query = ''): Promise<Answer> => send('GET', `${at}${query}`),
    create: (body: object = { name: 'The Quay' }): Promise<Answer> => send('POST', at, body),
    read: (space: Id): Promise<Answer> => send('GET', `${at}/${space}`),
    update: (space: Id, body: object): Promise<Answer> => send('PATCH', `${at}/${space}`, body),
    order: (spaces: readonly Id[]): Promise<Answer> => send('PUT', `${at}/order`, { space_ids: spaces }),
    archive: (space: Id): Promise<Answer> => send('POST', `${at}/${space}/archive`),
    unarchive: (space: Id): Promise<Answer> => send('POST', `${at}/${space}/unarchive`),
    members: (space: Id, query = ''): Promise<Answer> => send('GET', `${at}/${space}/members${query}`),
    remove: (space: Id, student: Id): Promise<Answer> => send('DELETE', `${at}/${space}/members/${student}`),
    ban: (space: Id, student: Id): Promise<Answer> => send('PUT', `${at}/${space}/bans/${student}`),
    unban: (space: Id, student: Id): Promise<Answer> => send('DELETE', `${at}/${space}/bans/${student}`),
  };
}

/** Makes the steps of the run `space-fill/<space>` until the run ends or waits. @returns the last step */
export async function fill(spaceId: Id, now = Date.now()): Promise<SpaceFillStep> {
  const deps = await testDeps();
  for (;;) {
    const step = await fillSpace(deps, spaceId, now);
    if (step.done || step.waits) return step;
  }
}

/** Counts the members of a space by their rows. The stored `member_count` must be equal to the result. */
export async function countedMembers(spaceId: Id): Promise<number> {
  const [row] = await (
    await testDatabase()
  ).query<{ members: number }[]>(
    `SELECT count(*)::int AS members FROM community_memberships WHERE space_id = $1 AND counted`,
    [spaceId],
  );
  return row?.members ?? 0;
}

export function talkingOf(clubId: Id, token: string) {
  const at = `/v1/clubs/${clubId}/classroom`;
  const post = (publicId: string) => `${at}/posts/${publicId}`;
  const comment = (publicId: string, id: Id) => `${post(publicId)}/comments/${id}`;
  return {
    posts: (space: Id, query = ''): Promise<Answer> =>
      call('GET', `${at}/community/spaces/${space}/posts${query}`, { token }),
    publish: (space: Id, body: object = { body: 'Ahoy' }): Promise<Answer> =>
      call('POST', `${at}/community/spaces/${space}/posts`, { token, body }),
    reserve: (body: object): Promise<Answer> => call('POST', `${at}/post-files`, { token, body }),
    read: (publicId: string): Promise<Answer> => call('GET', post(publicId), { token }),
    edit: (publicId: string, body: object): Promise<Answer> => call('PATCH', post(publicId), { token, body }),
    delete: (publicId: string): Promise<Answer> => call('DELETE', post(publicId), { token }),
    react: (publicId: string, kind = 'like'): Promise<Answer> =>
      call('PUT', `${post(publicId)}/reactions/${kind}`, { token }),
    unreact: (publicId: string, kind = 'like'): Promise<Answer> =>
      call('DELETE', `${post(publicId)}/reactions/${kind}`, { token }),
    report: (publicId: string, body: object = {}): Promise<Answer> =>
      call('POST', `${post(publicId)}/reports`, { token, body }),
    comments: (publicId: string, query = ''): Promise<Answer> =>
      call('GET', `${post(publicId)}/comments${query}`, { token }),
    comment: (publicId: string, body: object = { body: 'Aye' }): Promise<Answer> =>
      call('POST', `${post(publicId)}/comments`, { token, body }),
    editComment: (publicId: string, id: Id, body: string): Promise<Answer> =>
      call('PATCH', comment(publicId, id), { token, body: { body } }),
    deleteComment: (publicId: string, id: Id): Promise<Answer> => call('DELETE', comment(publicId, id), { token }),
    reactToComment: (publicId: string, id: Id, kind = 'like'): Promise<Answer> =>
      call('PUT', `${comment(publicId, id)}/reactions/${kind}`, { token }),
    unreactToComment: (publicId: string, id: Id, kind = 'like'): Promise<Answer> =>
      call('DELETE', `${comment(publicId, id)}/reactions/${kind}`, { token }),
    reportComment: (publicId: string, id: Id, body: object = {}): Promise<Answer> =>
      call('POST', `${comment(publicId, id)}/reports`, { token, body }),
  };
}

/** A moderator's calls. */
export function moderatingOf(club: Pick<TestClub, 'id' | 'owner'>, token = club.owner.token) {
  const send = callsOf(club, token);
  return {
    post: (publicId: string, action: string, reason?: string): Promise<Answer> =>
      send('POST', `/community/posts/${publicId}/moderations`, { action, reason }),
    comment: (publicId: string, id: Id, action: string, reason?: string): Promise<Answer> =>
      send('POST', `/community/posts/${publicId}/comments/${id}/moderations`, { action, reason }),
    reports: (query = ''): Promise<Answer> => send('GET', `/community/reports${query}`),
    dismiss: (report: Id): Promise<Answer> => send('PUT', `/community/reports/${report}/dismissal`),
    acts: (query = ''): Promise<Answer> => send('GET', `/community/moderations${query}`),
  };
}
