/** The client's address, from the connection and the header of trusted proxies. */
import { clientIp } from '../rate-limits/client-ip.policy.ts';
import type { Context } from './context.ts';

/** @param trustedProxies CIDR */
export function ipOf(context: Pick<Context, 'get' | 'req'>, trustedProxies: readonly string[]): string {
  const forwarded = context.get('x-forwarded-for') || undefined;
  return clientIp(context.req.socket.remoteAddress, forwarded, trustedProxies);
}
