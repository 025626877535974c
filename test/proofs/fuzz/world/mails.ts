/** Reads tokens and codes that the system mailed to people. Reads them from the tables, because the fuzzer has no inboxes. */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../../platform/core/ids.ts';
import type { TokenPurpose } from '../../../../entities/mail/values.ts';
import { tokenText } from '../../../../domain/mail/codes/one-time-tokens.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

interface MailedToken {
  readonly id: Id;
  readonly purpose: TokenPurpose;
  readonly text: string;
  /** The address of the student or administrator; null for an invited person. */
  readonly email: string | null;
}

/** @param seenIds the ids of tokens that earlier calls returned; this call adds the ids of the new tokens */
export async function newTokens(seenIds: Set<Id>): Promise<MailedToken[]> {
  const source: DataSource = await testDatabase();
  const { vault } = await testDeps();
  const rows = await source.query<{ id: Id; purpose: TokenPurpose; email: string | null }[]>(
    `SELECT token.id, purpose, coalesce(student.email, administrator.email) AS email
       FROM one_time_tokens token LEFT JOIN students student ON student.id = token.student_id
       LEFT JOIN administrators administrator ON administrator.id = token.administrator_id
      WHERE NOT token.id = ANY($1) ORDER BY token.id`,
    [[...seenIds]],
  );
  for (const { id } of rows) seenIds.add(id);
  return rows.map(({ id, purpose, email }) => ({ id, purpose, email, text: tokenText(vault, purpose, id) }));
}
