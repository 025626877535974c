/** Reads the identity providers of the deployment from a setting, and derives their ids (OIDC-3). */
import { createHash } from 'node:crypto';
import { Secret } from '../../core/secret.ts';
import type { OpenIdProvider } from './client.ts';

/** A provider that every administrator of the service may sign in with. */
export interface DeploymentProvider extends OpenIdProvider {
  name: string;
}

export const usualScopes = 'openid email profile';

/**
 * @returns the id of a provider of the deployment. The same key and issuer always have the same id. Another issuer is another provider,
 * because its subjects are other people
 */
export function deploymentProviderId(key: string, issuer: string): string {
  const bytes = createHash('sha256').update(`identity provider\n${key}\n${issuer}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6); // version 8: an id of our own making
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const fields = ['key', 'name', 'issuer', 'client_id', 'client_secret'] as const;
const keyPattern = /^[a-z0-9][a-z0-9-]{0,39}$/;
const scopePattern = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;
const mostProviders = 20;

export const providersKind =
  'JSON: a list of objects with `key`, `name`, `issuer`, `client_id`, `client_secret` and, if needed, `scopes`';

/**
 * @param input JSON
 * @returns the providers, or the first mistake without any value, because the text contains secrets
 */
export function parseProviders(input: string): { value: readonly DeploymentProvider[]; mistake?: string } {
  const failed = (mistake: string) => ({ value: [], mistake });
  let items: unknown;
  try {
    items = JSON.parse(input);
  } catch {
    return failed('must be JSON');
  }
  if (!Array.isArray(items) || items.length > mostProviders)
    return failed(`must be a list of at most ${mostProviders} providers`);
  const value: DeploymentProvider[] = [];
  for (const [index, item] of items.entries()) {
    const read = providerIn(item as Readonly<Record<string, unknown>> | null);
    if (typeof read === 'string') return failed(`${read} (provider ${index + 1})`);
    if (value.some(({ id }) => id === read.id)) return failed(`must not name a provider twice (provider ${index + 1})`);
    value.push(read);
  }
  return { value };
}

function providerIn(item: Readonly<Record<string, unknown>> | null): DeploymentProvider | string {
  if (typeof item !== 'object' || item === null) return 'must contain objects';
  const unknown = Object.keys(item).some((name) => name !== 'scopes' && !fields.some((field) => field === name));
  if (unknown) return `must have no fields but ${fields.join(', ')} and scopes`;
  const texts = fields.map((field) => item[field]);
  if (!texts.every((text): text is string => typeof text === 'string' && text !== ''))
    return `must have texts as ${fields.join(', ')}`;
  const [key = '', name = '', issuer = '', clientId = '', clientSecret = ''] = texts;
  const scopes = item['scopes'] ?? usualScopes;
  if (!keyPattern.test(key)) return 'must have a key of lower-case letters, digits and hyphens';
  if (!isIssuer(issuer)) return 'must have an https issuer without a query or a fragment';
  if (typeof scopes !== 'string' || !scopePattern.test(scopes) || !scopes.split(' ').includes('openid'))
    return 'must have scopes with openid, separated by blanks';
  return {
    id: deploymentProviderId(key, issuer),
    name,
    issuer,
    clientId,
    clientSecret: new Secret(clientSecret),
    scopes,
  };
}

/** @returns whether a text is an issuer: an https address without user, query and fragment */
export function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '' && !/[?#\s]/.test(text);
}
