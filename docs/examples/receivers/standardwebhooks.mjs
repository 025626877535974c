// The same verification by the library of the Standard Webhooks project: npm install standardwebhooks
import { Webhook } from 'standardwebhooks';

/**
 * The event of a genuine request; anything else throws.
 * @param rawBody the bytes as they arrived, before anything parses them
 * @param headers of the request, as node:http gives them
 */
export function verifiedEvent(rawBody, headers) {
  return new Webhook(process.env.WEBHOOK_SECRET).verify(rawBody, headers);
}
