// Verifies a message with the library of the Standard Webhooks project: npm install standardwebhooks
import { Webhook } from 'standardwebhooks';

/**
 * @param rawBody the bytes of the body, before anything parses them
 * @param headers the headers of the request, as node:http gives them
 * @returns the event
 * @throws if the request is not genuine
 */
export function verifiedEvent(rawBody, headers) {
  return new Webhook(process.env.WEBHOOK_SECRET).verify(rawBody, headers);
}
