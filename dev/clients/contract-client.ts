/** The typed client of the service, with one function for each path and method. The tour uses it. */
import createClient, { type Client, type ClientOptions } from 'openapi-fetch';
import type { paths } from '../../contract/generated/types.ts';

export type ContractClient = Client<paths>;

/**
 * @param baseUrl without a trailing slash
 * @param token the token of a session; absent for calls without a session
 * @returns a client whose calls return `data`, or `error` in the usual form of errors
 */
export function createContractClient(baseUrl: string, token?: string, options: ClientOptions = {}): ContractClient {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return createClient<paths>({ ...options, baseUrl, headers });
}
