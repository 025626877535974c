/** What must be in no log line and no label of a metric: names, e-mail addresses, addresses of receivers, tokens and secrets. */
import { Problem } from '../../../../dev/problem.ts';

interface Rows {
  query(text: string): Promise<{ rows: { needle: string }[] }>;
}

/** A shorter one can be part of any word. */
const shortest = 5;

/** Tokens and webhook secrets, by how they begin. */
const secrets = [/\bcls_[\w-]{20,}/, /\bwhsec_[\w+/=-]{20,}/, /\bBearer \S{8,}/];

/** @returns of everybody and every endpoint of the service */
export async function needlesOf(database: Rows): Promise<string[]> {
  const { rows } = await database.query(`
    SELECT name AS needle FROM students UNION SELECT email FROM students WHERE email IS NOT NULL
     UNION SELECT split_part(email, '@', 1) FROM students WHERE email IS NOT NULL
     UNION SELECT name FROM administrators UNION SELECT email FROM administrators
     UNION SELECT name FROM clubs UNION SELECT url FROM webhook_endpoints`);
  return rows.map(({ needle }) => needle).filter(({ length }) => length >= shortest);
}

/**
 * @param texts by what they are, such as "the log of the API"
 * @throws Problem naming the text, and the kind of what is in it
 */
export function requireClean(texts: Readonly<Record<string, string>>, needles: readonly string[]): void {
  for (const [what, text] of Object.entries(texts)) {
    const found = [
      ...needles.filter((needle) => text.includes(needle)),
      ...secrets.filter((secret) => secret.test(text)).map(String),
    ];
    if (found.length > 0)
      throw new Problem(`In ${what} stands what must not be there: ${found.slice(0, 5).join(', ')}`);
  }
}
