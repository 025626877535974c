/** Calls operations below `/v1/clubs/{clubId}` as an administrator. */
import type { TestClub } from '../builders/clubs.ts';
import { call, type Answer } from './api.ts';

export type ClubCalls = (method: string, path: string, body?: unknown) => Promise<Answer>;

export function callsOf(club: Pick<TestClub, 'id' | 'owner'>, token = club.owner.token): ClubCalls {
  return (method, path, body) => call(method, `/v1/clubs/${club.id}${path}`, { token, body });
}
