/** Session links, created by calls of a club's own site with an API key. */
import type { Id } from '../../../platform/core/ids.ts';
import { call } from '../drive/api.ts';
import { buildApiKey } from './api-keys.ts';

interface TestSessionLink {
  url: string;
  token: string;
}

/** @returns the token in the fragment of the address */
const tokenIn = (url: string): string => new URL(url).hash.replace('#token=', '');

/** @param key the token of an API key with the scope `sessions:write`; a new key if absent */
export async function buildSessionLink(
  clubId: Id,
  studentId: Id,
  { key, path }: { key?: string; path?: string } = {},
): Promise<TestSessionLink> {
  const token = key ?? (await buildApiKey(clubId, ['sessions:write'])).token;
  const body = path === undefined ? {} : { path };
  const answer = await call('POST', `/v1/clubs/${clubId}/students/${studentId}/session-links`, { token, body });
  if (answer.status !== 201) throw new Error(`The API refused to create a session link: ${answer.text}`);
  const url: string = answer.body.data.url;
  return { url, token: tokenIn(url) };
}
