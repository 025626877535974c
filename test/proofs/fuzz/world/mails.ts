/** The tokens and codes that were mailed to people of a world: read where they are made, as their inboxes would show them. */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../../platform/core/ids.ts';
import type { TokenPurpose } from '../../../../entities/mail/values.ts';
import { tokenText } from '../../../../domain/mail/codes/one-time-tokens.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

interface MailedToken {
  readonly id: Id;
  readonly purpose: TokenPurpose;
  readonly text: string;
  /** Of the student or administrator; null for somebody invited. */
  readonly email: string | null;
}

/** Those that no look has seen before. @param seen ids, which the look adds to */
export async function newTokens(seen: Set<Id>): Promise<MailedToken[]> {
  const source: DataSource = await testDatabase();
  const { vault } = await testDeps();
  const rows = await source.query<{ id: Id; purpose: TokenPurpose; email: string | null }[]>(
    `SELECT token.id, purpose, coalesce(student.email, administrator.email) AS email
       FROM one_time_tokens token LEFT JOIN students student ON student.id = token.student_id
       LEFT JOIN administrators administrator ON administrator.id = token.administrator_id
      WHERE NOT token.id = ANY($1) ORDER BY token.id`,
    [[...seen]],
  );
  for (const { id } of rows) seen.add(id);
  return rows.map(({ id, purpose, email }) => ({ id, purpose, email, text: tokenText(vault, purpose, id) }));
}
