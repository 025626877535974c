/** Builds a request body for handlers that make other checks before they read the body. */
import { readJson } from '../../../platform/core/json.ts';

export function receivedBody(content: unknown): () => Promise<{ raw: Buffer; parse: () => unknown }> {
  const raw = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return async () => ({ raw, parse: () => readJson(raw) });
}
