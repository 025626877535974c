/** The answers of the context `audit` to the questions that concern every context (domain/questions.ts). */
import { AuditEntry } from '../../entities/audit/audit-entry.ts';
import type { ContextQuestions } from '../questions.ts';
import { removeOldEntries } from './entries.ts';

export const auditParts = {
  closeClub: null, // nothing is under way
  eraseStudent: null, // an entry contains ids, and no data about a student
  exportStudent: null, // an entry contains ids only
  changeEmail: null,
  clubRows: [{ of: AuditEntry, by: 'club' }],
  retention: [{ run: ({ db }, now) => removeOldEntries(db, now) }],
} satisfies ContextQuestions;
