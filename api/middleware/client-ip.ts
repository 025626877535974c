/** Finds the client's address in a request, from its connection and the header that trusted proxies set. */
import { clientIp } from '../rate-limits/client-ip.policy.ts';
import type { Context } from './context.ts';

/** @param trustedProxies networks (CIDR) of the trusted proxies */
export function ipOf(context: Pick<Context, 'get' | 'req'>, trustedProxies: readonly string[]): string {
  const forwarded = context.get('x-forwarded-for') || undefined;
  return clientIp(context.req.socket.remoteAddress, forwarded, trustedProxies);
}
