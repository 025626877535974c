/** The values that columns of the audit log may hold. */

/** The kinds of actors. An API key is a program. An operator runs a command of the service, and has no account. */
export const auditActors = ['administrator', 'api_key', 'operator'] as const;
export type AuditActor = (typeof auditActors)[number];

export interface AuditedRecord {
  kind: string;
  id: string;
}
