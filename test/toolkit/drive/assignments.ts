/** Makes the calls of students and administrators about assignments, over HTTP. */
import type { Id } from '../../../platform/core/ids.ts';
import type { TestClub } from '../builders/clubs.ts';
import { call, type Answer } from './api.ts';
import { callsOf } from './club-calls.ts';

/** A student's calls. */
export function handingInOf({ clubId }: { clubId: Id }, { token }: { token: string }) {
  const at = `/v1/clubs/${clubId}/classroom`;
  return {
    list: (lesson: string, query = ''): Promise<Answer> =>
      call('GET', `${at}/lessons/${lesson}/assignments${query}`, { token }),
    reserve: (body: object): Promise<Answer> => call('POST', `${at}/assignment-files`, { token, body }),
    unsent: (query = ''): Promise<Answer> => call('GET', `${at}/assignment-files${query}`, { token }),
    drop: (file: Id): Promise<Answer> => call('DELETE', `${at}/assignment-files/${file}`, { token }),
    send: (assignment: Id, body: object = { text: 'Here it is.' }): Promise<Answer> =>
      call('POST', `${at}/assignments/${assignment}/submissions`, { token, body }),
    own: (query = ''): Promise<Answer> => call('GET', `${at}/assignment-submissions${query}`, { token }),
    read: (submission: Id): Promise<Answer> => call('GET', `${at}/assignment-submissions/${submission}`, { token }),
    withdraw: (submission: Id, attempt = 1): Promise<Answer> =>
      call('POST', `${at}/assignment-submissions/${submission}/withdraw`, { token, body: { attempt } }),
  };
}

/** An administrator's calls. */
export function reviewingOf(club: Pick<TestClub, 'id' | 'owner'>, token = club.owner.token) {
  const send = callsOf(club, token);
  return {
    queue: (query = ''): Promise<Answer> => send('GET', `/assignment-submissions${query}`),
    read: (submission: Id): Promise<Answer> => send('GET', `/assignment-submissions/${submission}`),
    review: (submission: Id, body: object): Promise<Answer> =>
      send('POST', `/assignment-submissions/${submission}/reviews`, body),
    approve: (submission: Id, attempt = 1): Promise<Answer> =>
      send('POST', `/assignment-submissions/${submission}/reviews`, { attempt, outcome: 'approved' }),
    return: (submission: Id, attempt = 1): Promise<Answer> =>
      send('POST', `/assignment-submissions/${submission}/reviews`, {
        attempt,
        outcome: 'changes_requested',
        comment: 'Once more.',
      }),
    extend: (assignment: Id, student: Id, body: object): Promise<Answer> =>
      send('PUT', `/assignments/${assignment}/extensions/${student}`, body),
  };
}
