/** The values that columns of the audit log may hold. */

/** The kinds of actors. An API key is a program. */
export const auditActors = ['administrator', 'api_key'] as const;
export type AuditActor = (typeof auditActors)[number];

export interface AuditedRecord {
  kind: string;
  id: string;
}
