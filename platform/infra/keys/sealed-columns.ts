/** Every column with sealed values. A new column needs a line here, and an index like the others (ADR 40). */
import { IdempotencyKey } from '../../../entities/idempotency/idempotency-key.ts';
import { SecondFactor } from '../../../entities/identity/second-factor.ts';
import { IdentityProvider } from '../../../entities/identity/identity-provider.ts';
import { VaultSecret } from '../../../entities/keys/vault-secret.ts';
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import { TransactionalMail } from '../../../entities/mail/transactional-mail.ts';
import { SalesConnection } from '../../../entities/sales/sales-connection.ts';
import { SalesNotice } from '../../../entities/sales/sales-notice.ts';
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import { columnOf, raw, sql, tableOf, type Column, type Entity, type Sql } from '../postgres/sql.ts';
import { sealHeaderBytes } from './vault.ts';

export interface SealedColumn {
  /** `table.column`. */
  name: string;
  table: Sql;
  /** The column with the row's id, the context of the sealed value. */
  id: Sql;
  idType: Sql;
  column: Sql;
  /** The first bytes, which name the key, as the index stores them. */
  header: Sql;
}

function sealed<E extends object>(
  entity: Entity<E>,
  property: Column<E>,
  { id, type }: { id: Column<E>; type: string },
): SealedColumn {
  const [table, column] = [tableOf(entity), columnOf(property)];
  return {
    name: `${table}.${column.render([])}`,
    table: raw(table),
    id: columnOf(id),
    idType: raw(type),
    column,
    header: sql`substr(${column}, 1, ${raw(String(sealHeaderBytes))})`,
  };
}

const uuid = { id: 'id', type: 'uuid' } as const;

export const otherColumns: readonly SealedColumn[] = [
  sealed(WebhookEndpoint, 'secret', uuid),
  sealed(WebhookEndpoint, 'previousSecret', uuid),
  sealed(SalesConnection, 'secret', uuid),
  sealed(SalesNotice, 'proof', uuid),
  sealed(MailDomain, 'sealedPrivateKey', uuid),
  sealed(TransactionalMail, 'sealedAddress', uuid),
  sealed(IdentityProvider, 'sealedClientSecret', uuid),
  sealed(IdempotencyKey, 'answer', uuid),
  sealed(SecondFactor, 'secret', uuid),
];

/** This column is resealed last: until then, each start needs the former key. */
export const ownColumn: SealedColumn = sealed(VaultSecret, 'sealed', { id: 'name', type: 'text' });

export const sealedColumns: readonly SealedColumn[] = [...otherColumns, ownColumn];
