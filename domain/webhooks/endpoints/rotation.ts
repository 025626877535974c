/** Rotates an endpoint's secret (SIG-4, DEC-34). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { VaultDeps } from '../../deps.ts';
import { findEndpoint, noEndpoint } from './endpoints.ts';
import { endpointRules } from './endpoints.policy.ts';
import { newSecret } from './secrets.ts';

/**
 * Gives the endpoint a new secret. For 24 hours, messages are also signed with the previous secret.
 * @param options.expirePrevious if true, the function rotates the secret even while the previous secret of an earlier rotation is still
 * valid. That previous secret becomes invalid immediately
 * @returns the endpoint with its new secret, which only this answer shows
 * @throws DomainError not_found; rotation_in_progress
 */
export function rotateSecret(
  { db, vault }: VaultDeps,
  clubId: Id,
  endpointId: Id,
  { expirePrevious }: { expirePrevious: boolean },
  now: Date,
): Promise<RecordOf<'WebhookEndpointWithSecret'>> {
  const secret = newSecret();
  return db.transaction(async (tx) => {
    const endpoint = await tx.one<{ rotating: boolean | null }>(
      sql`SELECT previous_secret_expires_at > ${now} AS rotating FROM webhook_endpoints
        WHERE id = ${endpointId} AND club_id = ${clubId} AND deleted_at IS NULL FOR NO KEY UPDATE`,
    );
    if (!endpoint) throw noEndpoint();
    if (endpoint.rotating && !expirePrevious) {
      throw new DomainError(
        'rotation_in_progress',
        'The secret was rotated within the last 24 hours, and the previous secret still signs; set expire_previous to end it.',
      );
    }
    const previousEndsAt = new Date(now.getTime() + endpointRules.previousSecretMs);
    await tx.run(
      sql`UPDATE webhook_endpoints
          SET previous_secret = secret, previous_secret_expires_at = ${previousEndsAt},
              secret = ${vault.seal(secret, endpointId)}, updated_at = ${now}
        WHERE id = ${endpointId}`,
    );
    return { endpoint: await findEndpoint(tx, clubId, endpointId, now), secret };
  });
}
