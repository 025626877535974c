/** The mails about a webhook endpoint. Each mail is sent only while the endpoint exists. */
import { WebhookEndpoint } from '../../entities/webhooks/webhook-endpoint.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { MailKind, MailKinds } from '../mail/kinds.ts';

const endpointColumns = columns(WebhookEndpoint, { id: 'id', endpointUrl: 'url' });

const aboutEndpoint: MailKind = (db, { endpointId }) =>
  db.one(sql`SELECT ${endpointColumns} FROM webhook_endpoints WHERE id = ${endpointId} AND deleted_at IS NULL`);

export const webhookMails = {
  webhook_endpoint_failing: aboutEndpoint,
  webhook_endpoint_gone: aboutEndpoint,
  webhook_endpoint_throttled: aboutEndpoint,
} as const satisfies MailKinds;
