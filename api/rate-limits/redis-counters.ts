/** Counters in Redis, which removes expired counters by itself. */
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Secret } from '../../platform/core/secret.ts';
import type { CounterStore } from './counter-store.ts';

const reconnectAfterMs = 500;

/** @param url `redis://` or `rediss://` */
export function openRedisCounters(url: Secret, deadlineMs: number): CounterStore {
  const redis = new Redis(url.reveal(), {
    lazyConnect: true,
    connectTimeout: deadlineMs,
    commandTimeout: deadlineMs,
    socketTimeout: deadlineMs * 2, // a connection without answers is closed and replaced
    enableOfflineQueue: false, // without a connection a count fails immediately, because a late count is useless
    autoResendUnfulfilledCommands: false, // Redis may have counted the lost call already
    maxRetriesPerRequest: 0,
    retryStrategy: () => reconnectAfterMs,
  });
  redis.on('error', () => undefined); // each failed count reports its own error
  const counters = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'rate_limit_counters',
    points: 0, // our limiter checks the limits itself, and needs only the count from this library
    duration: 0,
  });
  const firstConnection = redis.connect().catch(() => undefined); // ioredis keeps trying after a failure

  return {
    async increment(key, keepSeconds, by = 1) {
      await firstConnection;
      const change = by > 0 ? counters.penalty.bind(counters) : counters.reward.bind(counters);
      const { consumedPoints } = await change(key, 1, { customDuration: keepSeconds });
      return consumedPoints;
    },
    async read(key) {
      await firstConnection;
      return (await counters.get(key))?.consumedPoints ?? 0;
    },
    async ready() {
      await firstConnection;
      await redis.ping();
    },
    async close() {
      redis.disconnect();
      await firstConnection;
    },
  };
}
