import { Problem } from '../../../../dev/problem.ts';

interface Rows {
  query(text: string): Promise<{ rows: { needle: string }[] }>;
}

/** The search skips shorter texts, because they could be part of a different word. */
const shortest = 5;

const secrets = [/\bcls_[\w-]{20,}/, /\bwhsec_[\w+/=-]{20,}/, /\bBearer \S{8,}/];

/** Private data of all people and endpoints of the service. */
export async function needlesOf(database: Rows): Promise<string[]> {
  const { rows } = await database.query(`
    SELECT name AS needle FROM students UNION SELECT email FROM students WHERE email IS NOT NULL
     UNION SELECT split_part(email, '@', 1) FROM students WHERE email IS NOT NULL
     UNION SELECT name FROM administrators UNION SELECT email FROM administrators
     UNION SELECT name FROM clubs UNION SELECT url FROM webhook_endpoints`);
  return rows.map(({ needle }) => needle).filter(({ length }) => length >= shortest);
}

/** @param texts the texts by their names, such as "the log of the API" */
export function requireClean(texts: Readonly<Record<string, string>>, needles: readonly string[]): void {
  for (const [name, text] of Object.entries(texts)) {
    const privateData = [
      ...needles.filter((needle) => text.includes(needle)),
      ...secrets.filter((secret) => secret.test(text)).map(String),
    ];
    if (privateData.length > 0)
      throw new Problem(`${name} contain private data: ${privateData.slice(0, 5).join(', ')}`);
  }
}
