/** Builds a request body for a handler that first makes other checks, and then reads the body itself. */
import { readJson } from '../../../platform/core/json.ts';

export function receivedBody(content: unknown): () => Promise<{ raw: Buffer; parse: () => unknown }> {
  const raw = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return async () => ({ raw, parse: () => readJson(raw) });
}
