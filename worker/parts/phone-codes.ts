/** Builds the dependencies of the activity that sends codes to telephone numbers. */
import type { PhoneCodeDeps } from '../../domain/identity/phones/sending.ts';
import { phoneCodeRules } from '../../domain/identity/phones/codes.policy.ts';
import { postWebhook } from '../../domain/webhooks/attempts/post.ts';
import { phoneCodes } from '../reports/metrics.ts';
import type { Parts } from './parts.ts';

/** @returns the dependencies; without `PHONE_CODE_URL`, nothing can be posted */
export function phoneCodeDeps({
  config: { phoneCodes: settings, serviceName },
  resources: { db, vault, egress },
  log,
}: Parts): PhoneCodeDeps {
  const { url, secret } = settings;
  return {
    db,
    vault,
    postCode:
      url === undefined || secret === undefined
        ? undefined
        : async ({ id, body }) => {
            const message = { url, eventId: id, body, secrets: [secret.reveal()], serviceName };
            const { outcome, responseStatus, errorCode } = await postWebhook(egress.dispatcher, {
              ...message,
              timeLimitMs: phoneCodeRules.attemptMs,
            });
            return {
              outcome,
              ...(responseStatus !== undefined && { responseStatus }),
              ...(errorCode && { errorCode }),
            };
          },
    onOutcome(outcome, answer) {
      phoneCodes.inc({ outcome });
      if (outcome === 'failed') log.warn({ ...answer }, 'PHONE_CODE_URL did not accept a code');
    },
  };
}
