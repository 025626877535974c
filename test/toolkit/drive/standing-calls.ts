/** Makes the calls of a club's owner about tags, points and levels. */
import type { Id } from '../../../platform/core/ids.ts';
import type { TestClub } from '../builders/clubs.ts';
import { callsOf } from './club-calls.ts';

export function standingCalls(club: TestClub) {
  const send = callsOf(club);
  return {
    send,
    createTag: (name: string) => send('POST', '/tags', { name }),
    renameTag: (id: Id, name: string) => send('PATCH', `/tags/${id}`, { name }),
    deleteTag: (id: Id) => send('DELETE', `/tags/${id}`),
    tag: (studentId: Id, tagId: Id) => send('PUT', `/students/${studentId}/tags/${tagId}`),
    untag: (studentId: Id, tagId: Id) => send('DELETE', `/students/${studentId}/tags/${tagId}`),
    createLevel: (name: string, points: number) => send('POST', '/levels', { name, points }),
    changeLevel: (id: Id, body: object) => send('PATCH', `/levels/${id}`, body),
    deleteLevel: (id: Id) => send('DELETE', `/levels/${id}`),
    award: (studentId: Id, body: object) => send('POST', `/students/${studentId}/points`, body),
    standing: async (studentId: Id) => (await send('GET', `/students/${studentId}/standing`)).body.data,
    /** @returns its id */
    buildTag: async (name: string): Promise<Id> => (await send('POST', '/tags', { name })).body.data.id,
    /** @returns its id */
    buildLevel: async (name: string, points: number): Promise<Id> =>
      (await send('POST', '/levels', { name, points })).body.data.id,
  };
}
