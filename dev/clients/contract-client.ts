/** The typed client for the service, based on openapi-fetch, with one function for each path and method. The tour uses it. */
import createClient, { type Client, type ClientOptions } from 'openapi-fetch';
import type { paths } from '../../contract/generated/types.ts';

export type ContractClient = Client<paths>;

/**
 * @param baseUrl the address of the service, without a trailing slash
 * @param token the token of a student or administrator session; absent for calls without a session
 * @param options further options of openapi-fetch, such as `fetch`
 * @returns a client whose calls resolve to `data` with the operation's type, or to `error` with the common form of all errors
 */
export function createContractClient(baseUrl: string, token?: string, options: ClientOptions = {}): ContractClient {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return createClient<paths>({ ...options, baseUrl, headers });
}
