/** The changes of a request. They are committed together with the audit entry and the kept answer (ADR 69, AUD-1, IDEM-1). */
import type { ContractOperation } from '../../contract/contract.ts';
import type { KeptAnswer } from '../../domain/idempotency/repetitions.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { OpeningDatabase } from '../../platform/infra/postgres/opening-database.ts';
import { RequestDatabase } from '../../platform/infra/postgres/request-database.ts';
import { isAuditedRead, type Audit } from '../middleware/audit.ts';
import { commitsOnce } from '../middleware/commits.ts';
import type { Repetition } from '../middleware/repetitions.ts';

export interface RequestEffect {
  /** The database in which the handler makes its changes. */
  readonly db: Database;
  /** Adds the audit entry and the answer, and commits. The answer is known by now, so the entry can name the created record. */
  commit(answer: KeptAnswer): Promise<void>;
  /** Undoes the changes of an operation that commits once. */
  rollback(): Promise<void>;
  /** The number of transactions that the handler has begun, for an operation that commits once; otherwise 0. */
  readonly transactions: number;
}

export function effectOf(
  processDb: Database,
  operation: ContractOperation,
  { audit, repetition }: { audit: Audit | undefined; repetition: Repetition | undefined },
): RequestEffect {
  const transaction = commitsOnce(operation)
    ? new RequestDatabase(processDb, async (tx) => repetition?.claim(tx))
    : undefined;
  // An operation with several transactions writes its entry with the first one.
  const opening = audit && operation.method !== 'get' ? new OpeningDatabase(processDb, audit) : processDb;
  return {
    db: transaction ?? opening,
    async commit(answer) {
      if (transaction?.isOpen) await transaction.atEnd(async (tx) => audit?.(tx, answer.body));
      if (isAuditedRead(operation)) await audit?.(processDb);
      if (repetition) await transaction?.atEnd(repetition.keep(answer));
      await transaction?.commit();
    },
    async rollback() {
      await transaction?.rollback();
    },
    get transactions() {
      return transaction?.transactions ?? 0;
    },
  };
}
