/** The secret that signs forwarded events. It is derived from the API key, so that a receiver keeps it over runs (LSN-8). */
import { hkdfSync } from 'node:crypto';

/** @returns `whsec_…`. The key cannot be computed from it */
export function secretOf(key: string): string {
  const bytes = hkdfSync('sha256', key, '', 'club-learning listen v1', 32);
  return `whsec_${Buffer.from(bytes).toString('base64')}`;
}
