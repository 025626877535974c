/** A body as a handler receives it that reads it late. */
import { readJson } from '../../../platform/core/json.ts';

export function receivedBody(sent: unknown): () => Promise<{ raw: Buffer; parse: () => unknown }> {
  const raw = Buffer.isBuffer(sent) ? sent : Buffer.from(JSON.stringify(sent));
  return async () => ({ raw, parse: () => readJson(raw) });
}
