/** Decides which requests the audit log records, and describes them (AUD-1, AUD-2). */
import type { ContractOperation, OperationId } from '../../contract/contract.ts';
import { createdRecord, fieldsOf, recordsIn } from '../../domain/audit/audit.policy.ts';
import { recordEntry } from '../../domain/audit/entries.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import type { Caller } from '../operation.ts';

/** The log records these reads, for these reasons. */
const auditedReads: ReadonlyMap<OperationId, string> = new Map([
  ['listAgentConversations', 'The list names what students have asked an agent.'],
  ['getAgentConversation', 'A conversation contains the words of a student.'],
  ['getClubExport', 'The answer has the address of an archive with all data of the club.'],
  ['getStudentExport', 'The answer has the address of a file with all data of a student.'],
  ['exportAuditLog', 'An export takes the log out of the service.'],
] as const);

export interface AuditedRequest {
  caller: Caller | undefined;
  params: Readonly<Record<string, string>>;
  body: unknown;
  requestId: string;
  network: string;
  now: Date;
}

/** @param answer the body of the answer, if it is already known */
export type Audit = (db: Queries, answer?: unknown) => Promise<void>;

/** @returns whether a successful request gets an entry, although it changes nothing */
export const isAuditedRead = ({ operationId }: ContractOperation): boolean => auditedReads.has(operationId);

/** @returns undefined if the log does not record the request: requests of students, requests outside a club, and most reads */
export function auditOf(operation: ContractOperation, request: AuditedRequest): Audit | undefined {
  const { caller, params, body, requestId, network, now } = request;
  const { clubId } = params;
  const isAudited = operation.method !== 'get' || isAuditedRead(operation);
  if (!isAudited || clubId === undefined || caller === undefined || caller.kind === 'student') return undefined;
  const actor =
    caller.kind === 'key'
      ? ({ kind: 'api_key', id: caller.keyId } as const)
      : ({ kind: 'administrator', id: caller.administratorId } as const);
  const named = recordsIn(params);
  return (db, answer) => {
    const created = operation.method === 'post' ? createdRecord(answer, named) : [];
    const { operationId } = operation;
    const records = [...named, ...created];
    return recordEntry(
      db,
      { clubId, actor, operation: operationId, records, fields: fieldsOf(body), requestId, network },
      now,
    );
  };
}
